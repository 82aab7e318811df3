#include "login_lab.h"

#include "base/connect_string.h"
#include "base/server_list.h"
#include "secured.h"
#include "support/net.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS 40000
#define IDLE_TURNS 6

LoginLab login_lab;

static struct
{
  CuratorTls *tls;
  CuratorTlsCredentials *credentials;
  CuratorSaslSettings *sasl[N_LOGINS];
} shared;

void
login_labs_start (const char *directory)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *ca = g_build_filename (directory, "ca.pem", NULL);

  login_servers_start (directory);
  shared.tls = curator_tls_new ();
  assert_ok (curator_tls_set_ca_file (shared.tls, ca, &error), &error);
  shared.credentials = curator_tls_credentials_load (shared.tls, &error);
  assert_ok (shared.credentials != NULL, &error);
  shared.sasl[LOGIN_DIGEST] = curator_sasl_settings_new_digest (SASL_USER, SASL_PASSWORD);
  shared.sasl[LOGIN_GSSAPI] = curator_sasl_settings_new_gssapi ("zookeeper", "zk.test");
  assert_ok (curator_sasl_load (shared.sasl[LOGIN_DIGEST], &error), &error);
}

void
login_labs_stop (void)
{
  curator_sasl_settings_unref (shared.sasl[LOGIN_DIGEST]);
  curator_sasl_settings_unref (shared.sasl[LOGIN_GSSAPI]);
  curator_tls_credentials_free (shared.credentials);
  curator_tls_unref (shared.tls);
  login_servers_stop ();
}

static void
on_failed (const char *server, const GError *error, gboolean is_final, gpointer data)
{
  login_lab.code = login_lab.failures->len == 0 ? error->code : login_lab.code;
  g_string_append_printf (login_lab.failures, "%s\n", error->message);
}

static void
on_warned (const char *text, gpointer data)
{
}

static void
on_opened (const char *server, gpointer data)
{
}

static void
on_pinged (gint64 sent_us, gint64 answered_us, gpointer data)
{
}

static CuratorLink *
connect_client (gint64 asked)
{
  static const guint8 password[CURATOR_PASSWORD_LENGTH] = "secret";
  g_autoptr (GByteArray) frame = g_byte_array_new ();
  int fds[2];

  net_put_int32 (frame, 44);
  net_put_int32 (frame, 0);
  net_put_int64 (frame, 0);
  net_put_int32 (frame, TIMEOUT_MS);
  net_put_int64 (frame, asked);
  net_put_buffer (frame, password, sizeof password);
  assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  login_lab.client_fd = fds[0];
  return curator_link_new (&login_lab.context, fds[1], frame->data, frame->len);
}

void
login_lab_open (LoginMechanism mechanism, LoginCarrier carrier, gint64 asked)
{
  struct sockaddr_in name = { .sin_family = AF_INET };
  g_autoptr (GPtrArray) hosts = g_ptr_array_new ();

  name.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  login_lab = (LoginLab){
    .mechanism = mechanism, .carrier = carrier, .held_flight = G_MAXUINT, .code = -1
  };
  login_lab.listener = net_listen (&name);
  assert_true (login_lab.listener >= 0);
  CuratorHostPort host = { .host = (char *) "127.0.0.1", .port = ntohs (name.sin_port) };
  g_ptr_array_add (hosts, &host);
  g_autoptr (GPtrArray) servers = curator_servers_new (hosts);
  login_lab.failures = g_string_new (NULL);
  login_lab.context = (CuratorLinkContext){ .endpoints = curator_endpoints_new (servers),
                                            .wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK) };
  login_lab.context.setup =
      (CuratorChannelSetup){ .tls = carrier != LOGIN_CLEAR ? shared.tls : NULL,
                             .sasl = shared.sasl[mechanism],
                             .failed = on_failed,
                             .warned = on_warned,
                             .opened = on_opened,
                             .pinged = on_pinged };
  login_lab.context.credentials = carrier != LOGIN_CLEAR ? shared.credentials : NULL;
  login_lab.link = connect_client (asked);
}

void
login_lab_close (void)
{
  g_clear_pointer (&login_lab.server, login_server_free);
  g_clear_pointer (&login_lab.link, curator_link_free);
  close (login_lab.client_fd);
  close (login_lab.listener);
  close (login_lab.context.wake_fd);
  curator_endpoints_free (login_lab.context.endpoints);
  g_string_free (login_lab.failures, TRUE);
}

/* An answer of any server that the session has ended, for which libzookeeper asked. */
static gboolean
is_end_of_session (const CuratorLink *link)
{
  CuratorConnectFrame asked = { 0 };
  CuratorConnectFrame told = { 0 };

  curator_frame_read_request (link->request, link->request_size, &asked);
  return link->state != CURATOR_LINK_OPEN
         && curator_frame_read_response (link->response, link->response_size, &told)
         && asked.session_id != 0 && told.session_id == 0 && told.timeout_ms <= 0
         && curator_buffer_length (&link->to_client) + login_lab.n_delivered <= link->response_size;
}

static void
check (void)
{
  const CuratorLink *link = login_lab.link;
  const gboolean may_open =
      login_lab.is_secret && (login_lab.mechanism == LOGIN_NONE || login_lab.is_proven);

  const gboolean is_bounded =
      link->to_client.start <= link->to_client.end && link->to_client.end <= CURATOR_BUFFER_SIZE
      && link->to_server.start <= link->to_server.end && link->to_server.end <= CURATOR_BUFFER_SIZE;
  const gboolean is_cautious = link->state < CURATOR_LINK_ASKED || login_lab.is_secret;
  const gboolean is_patient =
      link->state < CURATOR_LINK_OPEN || may_open || is_end_of_session (link);
  if (!is_bounded || !is_cautious || !is_patient) {
    fail_msg ("%s: in state %d%s%s%s", login_lab.text, (int) link->state,
              is_bounded ? "" : ", out of bounds", is_cautious ? "" : ", without a handshake",
              is_patient ? "" : ", without a proof");
  }
  login_lab.was_open |= link->state >= CURATOR_LINK_OPEN;
}

static void
drain (gboolean *moved)
{
  guint8 bytes[4096];
  gssize got;

  while ((got = recv (login_lab.client_fd, bytes, sizeof bytes, 0)) > 0) {
    login_lab.n_delivered += (gsize) got;
    *moved = TRUE;
  }
  assert_true (login_lab.n_delivered == 0 || login_lab.was_open);
}

static gsize
buffered_bytes (const CuratorLink *link)
{
  return curator_buffer_length (&link->to_client) + curator_buffer_length (&link->to_server);
}

static void
turn_client (gboolean *moved)
{
  const CuratorLinkState state = login_lab.link->state;
  const gsize buffered = buffered_bytes (login_lab.link);
  struct pollfd fds[CURATOR_LINK_FDS];

  curator_link_prepare (login_lab.link, fds);
  poll (fds, CURATOR_LINK_FDS, 0);
  if (curator_link_dispatch (login_lab.link, fds)) {
    check ();
    *moved |= login_lab.link->state != state || login_lab.link->job != NULL
              || buffered != buffered_bytes (login_lab.link);
    drain (moved);
    return;
  }
  drain (moved);
  g_clear_pointer (&login_lab.link, curator_link_free);
  *moved = TRUE;
}

static void
turn_server (gboolean *moved)
{
  const int fd = accept4 (login_lab.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

  if (fd >= 0) {
    g_clear_pointer (&login_lab.server, login_server_free);
    login_lab.server = login_server_new (fd, login_lab.mechanism, login_lab.carrier);
    login_lab.server->held = login_lab.held_flight;
    login_lab.n_servers++;
    login_lab.is_proven = FALSE;
    login_lab.is_secret = login_lab.held_flight == G_MAXUINT;
    *moved = TRUE;
  }
  if (login_lab.server != NULL && !login_server_turn (login_lab.server, moved)) {
    g_clear_pointer (&login_lab.server, login_server_free);
    *moved = TRUE;
  }
}

/* FALSE: nothing has moved. */
static gboolean
turn (void)
{
  gboolean moved = FALSE;

  turn_server (&moved);
  if (login_lab.link != NULL)
    turn_client (&moved);
  return moved;
}

void
login_lab_run (void)
{
  for (guint n_idle = 0; n_idle < IDLE_TURNS;)
    n_idle = turn () ? 0 : n_idle + 1;
}

GByteArray *
login_lab_wait_for (GByteArray *(*take) (LoginServer *server))
{
  const gint64 until_us = g_get_monotonic_time () + LONG_MS * 1000;
  GByteArray *taken = NULL;

  while (taken == NULL && login_lab.link != NULL) {
    turn ();
    if (g_get_monotonic_time () >= until_us)
      fail_msg ("the true login does not go on: %s", login_lab.failures->str);
    taken = login_lab.server != NULL ? take (login_lab.server) : NULL;
  }
  return taken;
}

void
login_lab_client_sends (gsize n)
{
  g_autofree guint8 *bytes = g_malloc0 (n + 1);
  (void) !send (login_lab.client_fd, bytes, n, MSG_NOSIGNAL);
}

void
login_lab_let_deadline_pass (void)
{
  if (login_lab.link != NULL && login_lab.link->deadline_us != CURATOR_NO_TIME) {
    login_lab.link->deadline_us = 0;
    login_lab_run ();
  }
}
