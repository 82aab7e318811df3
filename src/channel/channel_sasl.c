/* SASL; see channel_sasl.h. Threads: one at a time for each authentication; pthread_once for the
 * library.
 *
 * NOTES: Cyrus SASL needs mutexes, set before its first use in the process. If the program uses it
 * already, its settings stay.
 */
#include "channel/channel_sasl.h"

#include "base/tag.h"
#include "channel/channel_error.h"
#include "channel/tls_settings.h"

#include <errno.h>
#include <string.h>

static CuratorSaslSettings *
settings_new (const char *mechanism, const char *package, const char *service,
              const char *server_name)
{
  CuratorSaslSettings *settings = g_new0 (CuratorSaslSettings, 1);
  curator_refs_init (&settings->refs);
  settings->mechanism = mechanism;
  settings->package = package;
  settings->service = g_strdup (service);
  settings->server_name = g_strdup (server_name);
  return settings;
}

CuratorSaslSettings *
curator_sasl_settings_new_digest (const char *user, const char *password)
{
  /* The name that every ZooKeeper server has for this mechanism. */
  CuratorSaslSettings *settings =
      settings_new ("DIGEST-MD5", "libsasl2-modules", "zookeeper", "zk-sasl-md5");
  settings->user = g_strdup (user);
  settings->password = g_strdup (password);
  return settings;
}

CuratorSaslSettings *
curator_sasl_settings_new_gssapi (const char *service, const char *server_name)
{
  return settings_new ("GSSAPI", "libsasl2-modules-gssapi-mit",
                       service != NULL ? service : "zookeeper", server_name);
}

void
curator_sasl_settings_unref (CuratorSaslSettings *settings)
{
  if (curator_refs_dec (&settings->refs)) {
    curator_wipe_string (&settings->password);
    g_free (settings->user);
    g_free (settings->service);
    g_free (settings->server_name);
    g_free (settings);
  }
}

#ifdef CURATOR_HAVE_SASL

#include <pthread.h>
#include <sasl/sasl.h>
#include <sasl/saslplug.h>

#define N_CALLBACKS 6

struct _CuratorSasl
{
  CuratorRefs refs;
  CuratorSaslSettings *settings;
  char *host; /* or what the settings call it */
  sasl_conn_t *connection;
  sasl_callback_t callbacks[N_CALLBACKS];
  sasl_secret_t *secret;
  GBytes *challenge; /* NULL before the first step */
  CuratorSaslOutcome outcome;
};

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static int library_result;

static void *
mutex_new (void)
{
  pthread_mutex_t *mutex = g_new (pthread_mutex_t, 1);
  pthread_mutex_init (mutex, NULL);
  return mutex;
}

static int
mutex_lock (void *mutex)
{
  return pthread_mutex_lock (mutex) == 0 ? SASL_OK : SASL_FAIL;
}

static int
mutex_unlock (void *mutex)
{
  return pthread_mutex_unlock (mutex) == 0 ? SASL_OK : SASL_FAIL;
}

static void
mutex_free (void *mutex)
{
  pthread_mutex_destroy (mutex);
  g_free (mutex);
}

static void
init_library (void)
{
  if (sasl_global_listmech () == NULL)
    sasl_set_mutex (mutex_new, mutex_lock, mutex_unlock, mutex_free);
  library_result = sasl_client_init (NULL);
}

gboolean
curator_sasl_is_built_in (void)
{
  return TRUE;
}

static void
note_mechanism (client_sasl_mechanism_t *mechanism, sasl_info_callback_stage_t stage, void *data)
{
  *(gboolean *) data |= stage == SASL_INFO_LIST_MECH;
}

gboolean
curator_sasl_load (const CuratorSaslSettings *settings, GError **error)
{
  gboolean found = FALSE;

  pthread_once (&library_once, init_library);
  if (library_result == SASL_NOMEM)
    return CURATOR_REFUSE (error, CURATOR_ERROR_RESOURCES, "SASL: %s", g_strerror (ENOMEM));
  if (library_result == SASL_OK)
    sasl_client_plugin_info (settings->mechanism, note_mechanism, &found);
  return found
         || CURATOR_REFUSE (error, CURATOR_ERROR_UNSUPPORTED,
                            "SASL %s: Cyrus SASL finds no module for it; Debian's is in %s",
                            settings->mechanism, settings->package);
}

static int
give_name (void *context, int id, const char **result, unsigned *length)
{
  const CuratorSasl *sasl = context;

  *result = id == SASL_CB_AUTHNAME && sasl->settings->user != NULL ? sasl->settings->user : "";
  if (length != NULL)
    *length = (unsigned) strlen (*result);
  return SASL_OK;
}

static int
give_secret (sasl_conn_t *connection, void *context, int id, sasl_secret_t **secret)
{
  const CuratorSasl *sasl = context;
  *secret = sasl->secret;
  return sasl->secret != NULL ? SASL_OK : SASL_FAIL;
}

static int
give_realm (void *context, int id, const char **realms, const char **result)
{
  *result = realms != NULL && realms[0] != NULL ? realms[0] : "";
  return SASL_OK;
}

/* Its messages are in the error of the step. */
static int
log_nothing (void *context, int level, const char *message)
{
  return SASL_OK;
}

CuratorSasl *
curator_sasl_new (CuratorSaslSettings *settings, const char *host)
{
  typedef int (*Callback) (void);
  CuratorSasl *sasl = g_new0 (CuratorSasl, 1);
  const sasl_callback_t callbacks[N_CALLBACKS] = {
    { SASL_CB_USER, (Callback) (gpointer) give_name, sasl },
    { SASL_CB_AUTHNAME, (Callback) (gpointer) give_name, sasl },
    { SASL_CB_PASS, (Callback) (gpointer) give_secret, sasl },
    { SASL_CB_GETREALM, (Callback) (gpointer) give_realm, sasl },
    { SASL_CB_LOG, (Callback) (gpointer) log_nothing, sasl },
    { SASL_CB_LIST_END, NULL, NULL },
  };

  curator_refs_init (&sasl->refs);
  curator_refs_inc (&settings->refs);
  sasl->settings = settings;
  sasl->host = g_strdup (settings->server_name != NULL ? settings->server_name : host);
  memcpy (sasl->callbacks, callbacks, sizeof callbacks);
  if (settings->password != NULL) {
    const gsize length = strlen (settings->password);
    sasl->secret = g_malloc0 (sizeof *sasl->secret + length);
    sasl->secret->len = length;
    memcpy (sasl->secret->data, settings->password, length);
  }
  return sasl;
}

CuratorSasl *
curator_sasl_ref (CuratorSasl *sasl)
{
  curator_refs_inc (&sasl->refs);
  return sasl;
}

void
curator_sasl_unref (gpointer data)
{
  CuratorSasl *sasl = data;

  if (!curator_refs_dec (&sasl->refs))
    return;
  sasl_dispose (&sasl->connection);
  if (sasl->secret != NULL)
    explicit_bzero (sasl->secret->data, sasl->secret->len);
  g_free (sasl->secret);
  g_free (sasl->host);
  g_clear_pointer (&sasl->challenge, g_bytes_unref);
  g_clear_pointer (&sasl->outcome.response, g_bytes_unref);
  g_clear_error (&sasl->outcome.error);
  curator_sasl_settings_unref (sasl->settings);
  g_free (sasl);
}

void
curator_sasl_set_challenge (CuratorSasl *sasl, const guint8 *bytes, gsize n)
{
  g_clear_pointer (&sasl->challenge, g_bytes_unref);
  g_clear_pointer (&sasl->outcome.response, g_bytes_unref);
  sasl->challenge = g_bytes_new (bytes, n);
}

static int
start (CuratorSasl *sasl, const char **out, unsigned *length)
{
  const CuratorSaslSettings *settings = sasl->settings;
  const sasl_security_properties_t plain = { .max_ssf = 0 };
  const char *chosen;

  int rc = sasl_client_new (settings->service, sasl->host, NULL, NULL, sasl->callbacks, 0,
                            &sasl->connection);
  if (rc == SASL_OK)
    rc = sasl_setprop (sasl->connection, SASL_SEC_PROPS, &plain);
  return rc == SASL_OK
             ? sasl_client_start (sasl->connection, settings->mechanism, NULL, out, length, &chosen)
             : rc;
}

gboolean
curator_sasl_begin_step (CuratorSasl *sasl)
{
  return !atomic_exchange (&sasl->settings->is_stepping, TRUE);
}

void
curator_sasl_end_step (CuratorSasl *sasl)
{
  atomic_store (&sasl->settings->is_stepping, FALSE);
}

void
curator_sasl_step (gpointer data)
{
  CuratorSasl *sasl = data;
  const char *out = NULL;
  unsigned length = 0;
  gsize size = 0;
  const char *bytes = sasl->challenge != NULL ? g_bytes_get_data (sasl->challenge, &size) : NULL;
  const int rc = sasl->challenge == NULL ? start (sasl, &out, &length)
                                         : sasl_client_step (sasl->connection, bytes,
                                                             (unsigned) size, NULL, &out, &length);

  curator_sasl_end_step (sasl);
  if (rc != SASL_OK && rc != SASL_CONTINUE) {
    const char *why = sasl->connection != NULL ? sasl_errdetail (sasl->connection)
                                               : sasl_errstring (rc, NULL, NULL);
    g_autofree char *line = g_strdelimit (g_strdup (why), "\r\n", ' ');
    sasl->outcome.error = g_error_new (CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_SASL,
                                       "SASL %s: %s", sasl->settings->mechanism, g_strstrip (line));
    return;
  }
  sasl->outcome.is_complete = rc == SASL_OK;
  if (length > 0 || rc != SASL_OK)
    sasl->outcome.response = g_bytes_new (out, length);
}

const CuratorSaslOutcome *
curator_sasl_outcome (CuratorSasl *sasl)
{
  return &sasl->outcome;
}

#else

/* No settings are accepted, so no authentication begins. If one did, no step would. */
CURATOR_STUB (gboolean, curator_sasl_is_built_in, (void), FALSE)
CURATOR_STUB (gboolean, curator_sasl_load, (const CuratorSaslSettings *settings, GError **error),
              curator_channel_unsupported (error, "SASL"))
CURATOR_STUB (CuratorSasl *, curator_sasl_new, (CuratorSaslSettings * settings, const char *host),
              NULL)
CURATOR_STUB (CuratorSasl *, curator_sasl_ref, (CuratorSasl * sasl), sasl)
CURATOR_STUB (void, curator_sasl_unref, (gpointer sasl), )
CURATOR_STUB (void, curator_sasl_set_challenge,
              (CuratorSasl * sasl, const guint8 *bytes, gsize n), )
CURATOR_STUB (void, curator_sasl_step, (gpointer sasl), )
CURATOR_STUB (gboolean, curator_sasl_begin_step, (CuratorSasl * sasl), FALSE)
CURATOR_STUB (void, curator_sasl_end_step, (CuratorSasl * sasl), )
CURATOR_STUB (const CuratorSaslOutcome *, curator_sasl_outcome, (CuratorSasl * sasl), NULL)

#endif
