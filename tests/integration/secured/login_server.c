#include "login_server.h"

#include "secured.h"
#include "support/net.h"

#include <errno.h>
#include <sasl/saslplug.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SESSION    0x1234
#define TIMEOUT_MS 40000
#define REALM      "zk-sasl-md5" /* of each ZooKeeper server, and its name */

static gnutls_certificate_credentials_t credentials;

guint
login_count (LoginMechanism mechanism)
{
  static const guint counts[N_LOGINS] = { 1, 3, 4 };
  return counts[mechanism];
}

guint
login_proof (LoginMechanism mechanism)
{
  return mechanism == LOGIN_NONE ? G_MAXUINT : 2;
}

/* --- Cyrus SASL ------------------------------------------------------------------------------- */

static int
look_up (void *context, sasl_server_params_t *params, unsigned flags, const char *user,
         unsigned length)
{
  const struct propval *wanted = params->utils->prop_get (params->propctx);
  /* Perhaps with "@" and the realm. */
  const gboolean is_user =
      length >= strlen (SASL_USER) && memcmp (user, SASL_USER, strlen (SASL_USER)) == 0;

  for (; is_user && wanted->name != NULL; wanted++)
    if (strcmp (wanted->name, "*userPassword") == 0 && (flags & SASL_AUXPROP_AUTHZID) == 0)
      params->utils->prop_set (params->propctx, wanted->name, SASL_PASSWORD,
                               (int) strlen (SASL_PASSWORD));
  return SASL_OK;
}

static int
init_passwords (const sasl_utils_t *utils, int max_version, int *out_version,
                sasl_auxprop_plug_t **plug, const char *name)
{
  static sasl_auxprop_plug_t passwords = { .auxprop_lookup = look_up, .name = (char *) "lab" };
  *out_version = SASL_AUXPROP_PLUG_VERSION;
  *plug = &passwords;
  return SASL_OK;
}

static int
give_option (void *context, const char *plugin, const char *option, const char **result,
             unsigned *length)
{
  static const char *const options[][2] = { { "auxprop_plugin", "lab" },
                                            { "mech_list", "DIGEST-MD5 GSSAPI" } };
  for (gsize i = 0; i < G_N_ELEMENTS (options); i++) {
    if (strcmp (option, options[i][0]) == 0) {
      *result = options[i][1];
      if (length != NULL)
        *length = (unsigned) strlen (*result);
      return SASL_OK;
    }
  }
  return SASL_FAIL;
}

static int
log_nothing (void *context, int level, const char *message)
{
  return SASL_OK;
}

typedef int (*SaslCallback) (void);

static void
open_sasl (LoginServer *server)
{
  const gboolean digest = server->mechanism == LOGIN_DIGEST;
  const sasl_security_properties_t plain = { .max_ssf = 0 };

  assert_int_equal (sasl_server_new ("zookeeper", digest ? REALM : "zk.test", digest ? REALM : NULL,
                                     NULL, NULL, NULL, 0, &server->sasl),
                    SASL_OK);
  assert_int_equal (sasl_setprop (server->sasl, SASL_SEC_PROPS, &plain), SASL_OK);
}

static GByteArray *
answer_sasl (LoginServer *server, const guint8 *token, gsize n)
{
  const char *out = NULL;
  unsigned length = 0;
  const gboolean is_first = server->sasl == NULL;

  if (is_first)
    open_sasl (server);
  const int rc =
      is_first
          ? sasl_server_start (server->sasl,
                               server->mechanism == LOGIN_DIGEST ? "DIGEST-MD5" : "GSSAPI",
                               n > 0 ? (const char *) token : NULL, (unsigned) n, &out, &length)
          : sasl_server_step (server->sasl, (const char *) token, (unsigned) n, &out, &length);
  if (rc != SASL_OK && rc != SASL_CONTINUE)
    fail_msg ("the true server refused the client: %s", sasl_errdetail (server->sasl));
  return login_sasl_reply (0, out, (gint32) length);
}

/* --- GnuTLS ----------------------------------------------------------------------------------- */

static ssize_t
push (gnutls_transport_ptr_t data, const void *bytes, size_t n)
{
  LoginServer *server = data;
  const gboolean is_held = !server->is_shaken && server->flight == server->held;
  g_byte_array_append (is_held ? server->flight_bytes : server->out, bytes, (guint) n);
  return (ssize_t) n;
}

static ssize_t
pull (gnutls_transport_ptr_t data, void *bytes, size_t n)
{
  LoginServer *server = data;
  return recv (server->fd, bytes, n, 0);
}

static int
is_readable (gnutls_transport_ptr_t data, unsigned ms)
{
  return 1;
}

static void
open_tls (LoginServer *server, LoginCarrier carrier)
{
  const char *priority =
      carrier == LOGIN_TLS13 ? "NORMAL:-VERS-ALL:+VERS-TLS1.3" : "NORMAL:-VERS-ALL:+VERS-TLS1.2";
  gnutls_init (&server->tls, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
  gnutls_priority_set_direct (server->tls, priority, NULL);
  gnutls_credentials_set (server->tls, GNUTLS_CRD_CERTIFICATE, credentials);
  gnutls_transport_set_ptr (server->tls, server);
  gnutls_transport_set_push_function (server->tls, push);
  gnutls_transport_set_pull_function (server->tls, pull);
  gnutls_transport_set_pull_timeout_function (server->tls, is_readable);
}

/* FALSE: it has failed. */
static gboolean
shake (LoginServer *server)
{
  const gsize before = server->out->len + server->flight_bytes->len;
  const int rc = gnutls_handshake (server->tls);

  server->flight += server->out->len + server->flight_bytes->len > before ? 1 : 0;
  server->is_shaken = rc == GNUTLS_E_SUCCESS;
  return rc == GNUTLS_E_SUCCESS || !gnutls_error_is_fatal (rc);
}

/* --- the server ------------------------------------------------------------------------------- */

void
login_servers_start (const char *directory)
{
  static const sasl_callback_t callbacks[] = {
    { SASL_CB_GETOPT, (SaslCallback) (gpointer) give_option, NULL },
    { SASL_CB_LOG, (SaslCallback) (gpointer) log_nothing, NULL },
    { SASL_CB_LIST_END, NULL, NULL },
  };
  g_autofree char *pem = g_build_filename (directory, "server.pem", NULL);
  g_autofree char *keytab = g_build_filename (directory, "server.keytab", NULL);

  g_setenv ("KRB5_KTNAME", keytab, TRUE);
  g_setenv ("KRB5RCACHENAME", "none:", TRUE);
  assert_int_equal (sasl_auxprop_add_plugin ("lab", init_passwords), SASL_OK);
  assert_int_equal (sasl_server_init (callbacks, "curator-test"), SASL_OK);
  gnutls_certificate_allocate_credentials (&credentials);
  assert_int_equal (
      gnutls_certificate_set_x509_key_file (credentials, pem, pem, GNUTLS_X509_FMT_PEM), 0);
}

void
login_servers_stop (void)
{
  gnutls_certificate_free_credentials (credentials);
}

LoginServer *
login_server_new (int fd, LoginMechanism mechanism, LoginCarrier carrier)
{
  LoginServer *server = g_new0 (LoginServer, 1);
  server->fd = fd;
  server->mechanism = mechanism;
  server->held = G_MAXUINT;
  server->flight_bytes = g_byte_array_new ();
  server->out = g_byte_array_new ();
  server->in = g_byte_array_new ();
  server->is_shaken = carrier == LOGIN_CLEAR;
  if (carrier != LOGIN_CLEAR)
    open_tls (server, carrier);
  return server;
}

void
login_server_free (LoginServer *server)
{
  if (server == NULL)
    return;
  g_clear_pointer (&server->tls, gnutls_deinit);
  sasl_dispose (&server->sasl);
  net_reset_on_close (server->fd); /* thousands would wait for late packets */
  close (server->fd);
  g_byte_array_unref (server->flight_bytes);
  g_byte_array_unref (server->out);
  g_byte_array_unref (server->in);
  g_free (server);
}

/* FALSE: the client has left. */
static gboolean
read_client (LoginServer *server, gboolean *moved)
{
  guint8 bytes[4096];

  for (;;) {
    const gssize got = server->tls != NULL ? gnutls_record_recv (server->tls, bytes, sizeof bytes)
                                           : recv (server->fd, bytes, sizeof bytes, 0);
    if (got <= 0)
      return server->tls != NULL ? got < 0 && !gnutls_error_is_fatal ((int) got)
                                 : got < 0 && errno == EAGAIN;
    *moved = TRUE;
    g_byte_array_append (server->in, bytes, (guint) got);
  }
}

gboolean
login_server_turn (LoginServer *server, gboolean *moved)
{
  const guint flight = server->flight;
  gboolean is_there = server->is_shaken || shake (server);

  *moved |= flight != server->flight;
  if (server->is_shaken)
    is_there = read_client (server, moved);
  const gsize left = server->out->len - server->sent;
  const gssize sent =
      left > 0 ? send (server->fd, server->out->data + server->sent, left, MSG_NOSIGNAL) : 0;
  if (sent > 0) {
    server->sent += (gsize) sent;
    *moved = TRUE;
  }
  if (server->ends && server->sent == server->out->len) {
    shutdown (server->fd, SHUT_WR);
    server->ends = FALSE;
    *moved = TRUE;
  }
  return is_there;
}

GByteArray *
login_server_take_flight (LoginServer *server)
{
  if (server->flight_bytes->len == 0)
    return NULL;
  GByteArray *taken = g_steal_pointer (&server->flight_bytes);
  server->flight_bytes = g_byte_array_new ();
  return taken;
}

GByteArray *
login_server_take_frame (LoginServer *server)
{
  const gsize length = server->in->len < 4 ? 0 : 4 + (gsize) net_get_int32 (server->in->data);

  if (length == 0 || server->in->len < length)
    return NULL;
  GByteArray *frame = g_byte_array_new ();
  g_byte_array_append (frame, server->in->data, (guint) length);
  g_byte_array_remove_range (server->in, 0, (guint) length);
  return frame;
}

GByteArray *
login_server_answer (LoginServer *server, const GByteArray *frame)
{
  if (server->n_answers++ == 0)
    return login_response (SESSION, TIMEOUT_MS, 16, FALSE);
  /* Length, xid, type, and the token with its length. */
  assert_true (frame->len >= 16);
  return answer_sasl (server, frame->data + 16, frame->len - 16);
}

void
login_server_send (LoginServer *server, const guint8 *bytes, gsize n)
{
  if (server->tls == NULL)
    g_byte_array_append (server->out, bytes, (guint) n);
  while (server->tls != NULL && n > 0) {
    const gssize sent = gnutls_record_send (server->tls, bytes, n);
    assert_true (sent > 0); /* push() takes all */
    bytes += sent;
    n -= (gsize) sent;
  }
}

GByteArray *
login_response (gint64 session_id, gint32 timeout_ms, gint32 password_length, int read_only)
{
  static const guint8 password[64] = "secret";
  const guint8 flag = (guint8) read_only;
  GByteArray *frame = g_byte_array_new ();

  net_put_int32 (frame, 20 + password_length + (read_only >= 0));
  net_put_int32 (frame, 0);
  net_put_int32 (frame, timeout_ms);
  net_put_int64 (frame, session_id);
  net_put_buffer (frame, password, password_length);
  if (read_only >= 0)
    g_byte_array_append (frame, &flag, 1);
  return frame;
}

GByteArray *
login_sasl_reply (gint32 code, const void *token, gint32 length)
{
  GByteArray *frame = g_byte_array_new ();
  net_put_int32 (frame, 20 + MAX (length, 0));
  net_put_int32 (frame, 1);
  net_put_int64 (frame, 0);
  net_put_int32 (frame, code);
  net_put_buffer (frame, token, length);
  return frame;
}
