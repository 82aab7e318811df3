/* Classifies ZooKeeper return codes, and turns them into a GError.
 *
 * Mirrors RetryPolicy.allowRetry. Threads: any; pure, no lock.
 */
#include "core/zk_error.h"

#include "base/path.h"
#include "curator/error.h"

#include <zookeeper/zookeeper.h>

static gboolean
is_one_of (int rc, const int *codes, gsize n)
{
  while (n > 0 && codes[n - 1] != rc)
    n--;
  return n > 0;
}

/* INVALIDSTATE and MARSHALLINGERROR come from a handle that has expired or is closing. */
gboolean
curator_zk_is_retryable (int rc)
{
  static const int retryable[] = { ZCONNECTIONLOSS, ZOPERATIONTIMEOUT, ZRUNTIMEINCONSISTENCY,
                                   ZINVALIDSTATE,   ZMARSHALLINGERROR, ZSESSIONMOVED,
                                   ZSESSIONEXPIRED, ZCLOSING,          ZTHROTTLEDOP,
                                   ZNOTREADONLY };
  return is_one_of (rc, retryable, G_N_ELEMENTS (retryable));
}

/* Not ambiguous: ZOK, and the codes that only a server sends for a request that changed nothing. */
gboolean
curator_zk_is_ambiguous (int rc)
{
  static const int definite[] = {
    ZOK,     ZNODEEXISTS, ZBADVERSION,  ZBADARGUMENTS, ZNOCHILDRENFOREPHEMERALS,
    ZNONODE, ZNOTEMPTY,   ZINVALIDACL,  ZSESSIONMOVED, CURATOR_ZK_QUOTA_EXCEEDED,
    ZNOAUTH, ZNOWATCHER,  ZNOTREADONLY, ZTHROTTLEDOP,  ZUNIMPLEMENTED
  };
  return !is_one_of (rc, definite, G_N_ELEMENTS (definite));
}

gboolean
curator_zk_is_auth_failure (int rc)
{
  return rc == ZAUTHFAILED || rc == CURATOR_ZK_SASL_REQUIRED;
}

gboolean
curator_zk_is_answer (int rc)
{
  return !curator_zk_is_ambiguous (rc) && !curator_zk_is_retryable (rc);
}

gboolean
curator_zk_is_refusal (int rc)
{
  return curator_zk_is_auth_failure (rc) || curator_zk_is_answer (rc);
}

/* What zerror() does not say. code: of CURATOR_ERROR; -1: the error keeps ZooKeeper's. */
static const struct
{
  int rc;
  int code;
  const char *why;
} explained[] = {
  { ZSESSIONEXPIRED, CURATOR_ERROR_SESSION_EXPIRED, "the session expired" },
  { ZAUTHFAILED, CURATOR_ERROR_AUTH_FAILED, "the server refused the authentication" },
  { CURATOR_ZK_SASL_REQUIRED, CURATOR_ERROR_AUTH_FAILED,
    "the server requires clients to authenticate, by SASL or as its enforce.auth.schemes says, and "
    "this one has no such credentials" },
  { ZUNIMPLEMENTED, CURATOR_ERROR_UNSUPPORTED,
    "the server does not know this request: ZooKeeper 3.5 is the oldest version that this library "
    "works with" },
  { ZDATAINCONSISTENCY, -1,
    "marshalling error: the server's list of children has not the names that it says it has" },
  { ZNOCHILDRENFOREPHEMERALS, -1,
    "the node above is ephemeral, so it can have no children: use another path" },
  { CURATOR_ZK_QUOTA_EXCEEDED, -1, "the quota of this path, or of one above it, is exceeded" },
};

GError *
curator_error_from_zk (int rc, const char *what, const char *path)
{
  g_autofree char *shown = curator_path_escape (path);
  int code = curator_zk_is_retryable (rc) ? CURATOR_ERROR_CONNECTION_LOST : -1;
  const char *why = zerror (rc);

  for (gsize i = 0; i < G_N_ELEMENTS (explained); i++)
    if (explained[i].rc == rc) {
      code = explained[i].code;
      why = explained[i].why;
    }
  return g_error_new (code >= 0 ? CURATOR_ERROR : CURATOR_ZK_ERROR, code >= 0 ? code : rc,
                      "%s %s: %s", what, shown, why);
}

/* The server checks the parent of a node that is deleted, and asks for more than it does at its
 * creation. */
GError *
curator_error_from_zk_deletion (int rc, gboolean is_reading, const char *path)
{
  GError *error = curator_error_from_zk (rc, is_reading ? "reading" : "deleting", path);

  if (rc == ZNOAUTH)
    g_prefix_error (
        &error, is_reading ? "the ACL of the node does not grant READ, so the server does not say "
                             "whose it is; it blocks others until it does, or its session ends: "
                           : "the ACL of the parent does not grant DELETE, so the node blocks "
                             "others until it does, or its session ends: ");
  return error;
}
