/* Classifies ZooKeeper return codes, and turns them into a GError.
 *
 * Mirrors RetryPolicy.allowRetry. Threads: any; pure, no lock.
 */
#include "core/zk_error.h"

#include "base/path.h"
#include "curator/error.h"

#include <zookeeper/zookeeper.h>

/* INVALIDSTATE and MARSHALLINGERROR come from a handle that has expired or is closing. */
gboolean
curator_zk_is_retryable (int rc)
{
  switch (rc) {
  case ZCONNECTIONLOSS:
  case ZOPERATIONTIMEOUT:
  case ZRUNTIMEINCONSISTENCY:
  case ZINVALIDSTATE:
  case ZMARSHALLINGERROR:
  case ZSESSIONMOVED:
  case ZSESSIONEXPIRED:
  case ZCLOSING:
  case ZTHROTTLEDOP:
  case ZNOTREADONLY:
    return TRUE;
  default:
    return FALSE;
  }
}

/* Not ambiguous: ZOK, and the codes that only a server sends for a request that changed nothing. */
gboolean
curator_zk_is_ambiguous (int rc)
{
  switch (rc) {
  case ZOK:
  case ZNONODE:
  case ZNODEEXISTS:
  case ZNOTEMPTY:
  case ZBADVERSION:
  case ZNOAUTH:
  case ZINVALIDACL:
  case ZNOCHILDRENFOREPHEMERALS:
  case ZUNIMPLEMENTED:
  case ZBADARGUMENTS:
  case ZSESSIONMOVED:
  case ZTHROTTLEDOP:
  case ZNOTREADONLY:
  case ZNOWATCHER:
  case CURATOR_ZK_QUOTA_EXCEEDED:
    return FALSE;
  default:
    return TRUE;
  }
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

GError *
curator_error_from_zk (int rc, const char *what, const char *path)
{
  g_autofree char *shown = curator_path_escape (path);

  switch (rc) {
  case ZSESSIONEXPIRED:
    return g_error_new (CURATOR_ERROR, CURATOR_ERROR_SESSION_EXPIRED, "%s %s: the session expired",
                        what, shown);
  case ZAUTHFAILED:
    return g_error_new (CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED,
                        "%s %s: the server refused the authentication", what, shown);
  case CURATOR_ZK_SASL_REQUIRED:
    return g_error_new (CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED,
                        "%s %s: the server requires clients to authenticate, by SASL or as its "
                        "enforce.auth.schemes says, and this one has no such credentials",
                        what, shown);
  case ZUNIMPLEMENTED:
    return g_error_new (CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED,
                        "%s %s: the server does not know this request: ZooKeeper 3.5 is the oldest "
                        "version that this library works with",
                        what, shown);
  case ZNOCHILDRENFOREPHEMERALS:
    return g_error_new (CURATOR_ZK_ERROR, rc,
                        "%s %s: the node above is ephemeral, so it can have no children: use "
                        "another path",
                        what, shown);
  case CURATOR_ZK_QUOTA_EXCEEDED:
    return g_error_new (CURATOR_ZK_ERROR, rc,
                        "%s %s: the quota of this path, or of one above it, is exceeded", what,
                        shown);
  default:
    break;
  }
  if (curator_zk_is_retryable (rc)) {
    return g_error_new (CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST, "%s %s: %s", what, shown,
                        zerror (rc));
  }
  return g_error_new (CURATOR_ZK_ERROR, rc, "%s %s: %s", what, shown, zerror (rc));
}

/* The server checks the parent, and asks for more than it does at the creation of a node. */
GError *
curator_error_from_zk_delete (int rc, const char *path)
{
  GError *error = curator_error_from_zk (rc, "deleting", path);

  if (rc == ZNOAUTH) {
    g_prefix_error (&error, "the ACL of the parent does not grant DELETE, so the node blocks "
                            "others until it does, or its session ends: ");
  }
  return error;
}

GError *
curator_error_from_zk_owner (int rc, const char *path)
{
  GError *error = curator_error_from_zk (rc, "reading", path);

  if (rc == ZNOAUTH) {
    g_prefix_error (&error, "the ACL of the node does not grant READ, so the server does not say "
                            "whose it is; it blocks others until it does, or its session ends: ");
  }
  return error;
}
