/* The network before a login, generated, with the true mechanisms: TLS by GnuTLS, DIGEST-MD5 and
 * GSSAPI by Cyrus SASL with a KDC. In every state of the connection the true server's next message
 * and every other one that it could send, changed in every way; see login_lab.h for what is
 * checked.
 *
 * A sample by default; all of it with CURATOR_TEST_ADVERSARY=all.
 */
#define SUITE_FIXTURE Realm *realm
#define SUITE_SETUP   NULL
#include "login_lab.h"
#include "realm.h"
#include "secured.h"
#include "support/net.h"

#include <string.h>

#define SESSION 0x1234
#define SAMPLE  191 /* one of so many */

/* What the server sends instead of its next message. */
typedef enum
{
  SAYS_TRUTH,
  SAYS_RESPONSE, /* to a connect request; longer by so many bytes of the password */
  SAYS_SASL,     /* a reply without a token */
  SAYS_OLD,      /* what another connection was told at this point */
  SAYS_LENGTH,   /* a frame of an impossible length */
  SAYS_FLIGHT    /* a flight of the TLS handshake */
} Saying;

typedef enum
{
  AS_IT_IS,
  TRUNCATED,
  SPLIT,
  FOLLOWED,
  DOUBLED,
  RESIZED, /* its length is another one than that of the content */
  FLIPPED, /* one bit */
  N_CHANGES
} Change;

typedef struct
{
  LoginCarrier carrier;
  LoginMechanism mechanism;
  gint64 asked; /* the session that libzookeeper asks for */
  guint n_true; /* messages of the true server before; of SAYS_FLIGHT: which flight */
  Saying saying;
  gint64 session;
  gint32 number; /* timeout, code or length */
  gint32 longer;
  int read_only; /* -1: it does not say so */
  Change change;
  gint64 by;
  gboolean ends; /* then the connection does */
} Case;

static guint n_cases;
static guint n_run;
static guint n_open;
static guint n_refused;
static guint step = SAMPLE;

/* From a connection of its own: a challenge and a proof that are old. */
static GByteArray *old[N_LOGINS][4];

static GByteArray *
copy_of (const GByteArray *bytes)
{
  GByteArray *copy = g_byte_array_new ();
  g_byte_array_append (copy, bytes->data, bytes->len);
  return copy;
}

static GByteArray *
message_of (const Case *c, const GByteArray *truth)
{
  switch (c->saying) {
  case SAYS_RESPONSE:
    return login_response (c->session, c->number, 16 + c->longer, c->read_only);
  case SAYS_SASL:
    return login_sasl_reply (c->number, NULL, (gint32) c->session);
  case SAYS_OLD:
    return copy_of (old[c->mechanism][c->session]);
  case SAYS_LENGTH: {
    GByteArray *frame = g_byte_array_new ();
    net_put_int32 (frame, c->number);
    net_put_int64 (frame, 0);
    return frame;
  }
  case SAYS_TRUTH:
  case SAYS_FLIGHT:
  default:
    return copy_of (truth);
  }
}

/* The length of a frame, or of a record of TLS, becomes another one, and as many bytes follow. */
static void
resize (const Case *c, GByteArray *message)
{
  const guint old_length = message->len;
  const guint more = (guint) MAX (c->by, 0);

  g_byte_array_set_size (message, old_length + more);
  memset (message->data + old_length, 0, more);
  if (c->saying == SAYS_FLIGHT) {
    const guint16 length = (guint16) (message->data[3] << 8 | message->data[4]);
    const guint16 changed = (guint16) (length + c->by);
    message->data[3] = (guint8) (changed >> 8);
    message->data[4] = (guint8) changed;
    return;
  }
  const guint32 before = (guint32) net_get_int32 (message->data);
  const guint32 length = GUINT32_TO_BE (before + (guint32) c->by);
  memcpy (message->data, &length, sizeof length);
}

static void
say (const Case *c, const guint8 *bytes, gsize n)
{
  if (n > 0 && login_lab.server != NULL && c->saying == SAYS_FLIGHT)
    g_byte_array_append (login_lab.server->out, bytes, (guint) n);
  else if (n > 0 && login_lab.server != NULL)
    login_server_send (login_lab.server, bytes, n);
}

/* All but what GnuTLS ignores: the type and the version in the head of a record, whose content is
 * what the keys protect, and records of the type 20, which are there for boxes in between. */
static gboolean
is_true_flight (const guint8 *said, const GByteArray *truth)
{
  for (gsize at = 0; at + 5 <= truth->len;) {
    const guint8 *record = truth->data + at;
    const gsize length = 5 + ((gsize) record[3] << 8 | record[4]);
    if (record[0] != 20 && memcmp (said + at + 3, record + 3, length - 3) != 0)
      return FALSE;
    at += length;
  }
  return TRUE;
}

/* Of a frame only the code and the token count, and of DIGEST-MD5 no name's case. */
static gboolean
is_true_enough (const Case *c, const GByteArray *message, gsize n, const GByteArray *truth)
{
  const gsize skipped = 16;

  if (truth == NULL || n < truth->len)
    return FALSE;
  if (c->saying == SAYS_FLIGHT)
    return is_true_flight (message->data, truth);
  const guint8 *said = message->data + skipped;
  const guint8 *true_one = truth->data + skipped;
  const gsize length = truth->len - skipped;
  if (c->mechanism == LOGIN_DIGEST && length > 8) {
    return memcmp (said, true_one, 8) == 0
           && g_ascii_strncasecmp ((const char *) said + 8, (const char *) true_one + 8, length - 8)
                  == 0;
  }
  return memcmp (said, true_one, length) == 0;
}

static void
say_changed (const Case *c, GByteArray *message, const GByteArray *truth)
{
  static const guint8 trailer[200 * 1024];
  const gsize by = (gsize) MAX (c->by, 0);

  if (c->change == RESIZED && message->len > 4)
    resize (c, message);
  else if (c->change == FLIPPED && message->len > 0)
    message->data[by / 8 % message->len] ^= (guint8) (1 << by % 8);
  const gsize n = c->change == TRUNCATED ? MIN (by, message->len) : message->len;
  const gsize first = c->change == SPLIT ? MIN (by, n) : 0;
  const gboolean is_true = is_true_enough (c, message, n, truth);
  login_lab.is_secret |= c->saying == SAYS_FLIGHT && is_true;
  login_lab.is_proven |=
      c->saying != SAYS_FLIGHT && c->n_true == login_proof (c->mechanism) && is_true;

  say (c, message->data, first);
  if (first > 0)
    login_lab_run ();
  say (c, message->data + first, n - first);
  if (c->change == DOUBLED)
    say (c, message->data, n);
  if (c->change == FOLLOWED)
    say (c, trailer, by);
  if (login_lab.server != NULL)
    login_lab.server->ends = c->ends;
}

/* The true server's messages up to this one, and the next one, which is not sent. NULL: there is
 * none. */
static GByteArray *
run_truth (LoginMechanism mechanism, guint n_true, guint n_kept, GByteArray **kept)
{
  for (guint i = 0;; i++) {
    if (i == login_count (mechanism)) {
      login_lab_run ();
      return NULL;
    }
    g_autoptr (GByteArray) frame = login_lab_wait_for (login_server_take_frame);
    assert_non_null (frame);
    GByteArray *answer = login_server_answer (login_lab.server, frame);
    if (i < n_kept)
      kept[i] = copy_of (answer);
    if (i == n_true)
      return answer;
    login_lab.is_proven |= i == login_proof (mechanism);
    login_server_send (login_lab.server, answer->data, answer->len);
    g_byte_array_unref (answer);
  }
}

/* The code of the client's first failure, at the end of the login's time at the latest, or -1. */
static int
try_case (const Case *c)
{
  login_lab_open (c->mechanism, c->carrier, c->asked);
  g_snprintf (login_lab.text, sizeof login_lab.text,
              "carrier %d, mechanism %d, session %" G_GINT64_FORMAT
              ", after %u, saying %d (%" G_GINT64_FORMAT
              " %d %d %d), change %d by %" G_GINT64_FORMAT ", ends %d",
              (int) c->carrier, (int) c->mechanism, c->asked, c->n_true, (int) c->saying,
              c->session, c->number, c->longer, c->read_only, (int) c->change, c->by, c->ends);
  login_lab.held_flight = c->saying == SAYS_FLIGHT ? c->n_true : G_MAXUINT;
  g_autoptr (GByteArray) truth = c->saying == SAYS_FLIGHT
                                     ? login_lab_wait_for (login_server_take_flight)
                                     : run_truth (c->mechanism, c->n_true, 0, NULL);
  if (truth != NULL || c->saying != SAYS_TRUTH) {
    g_autoptr (GByteArray) message = message_of (c, truth);
    say_changed (c, message, truth);
  }
  login_lab_run ();
  n_open += login_lab.link != NULL && login_lab.link->state == CURATOR_LINK_OPEN;
  n_refused += login_lab.failures->len > 0;
  login_lab_client_sends (c->by > 0 ? (gsize) c->by % 5000 : 0);
  login_lab_run ();
  login_lab.held_flight = G_MAXUINT;
  login_lab_let_deadline_pass (); /* perhaps to another server, that says nothing */
  login_lab_close ();
  return login_lab.code;
}

static void
run_case (Case c, Change how, gint64 by)
{
  c.change = how;
  c.by = by;
  if (n_cases++ % step != 0)
    return;
  n_run++;
  try_case (&c);
}

/* The client reads at most 64 KB at once, with an answer of 20 to 41 bytes in front. */
static const gint64 trailers[] = { 1, 4, 20, 41, 65471, 65495, 65512, 65516, 65536, 200 * 1024 };

static void
change (Case c, gsize length)
{
  for (int ends = 0; ends <= 1; ends++) {
    c.ends = ends;
    run_case (c, AS_IT_IS, 0);
    run_case (c, DOUBLED, 0);
    for (gint64 by = 0; by < (gint64) length; by++) {
      run_case (c, TRUNCATED, by);
      run_case (c, SPLIT, by);
      run_case (c, FLIPPED, by * 8 + by % 8);
    }
    for (gsize i = 0; i < G_N_ELEMENTS (trailers); i++)
      run_case (c, FOLLOWED, trailers[i]);
    for (gint64 by = -9; by <= 9; by++)
      run_case (c, RESIZED, by);
  }
}

static void
say_everything (Case c, gsize true_length)
{
  static const gint64 sessions[] = { 0, SESSION, -1, G_MININT64 };
  static const gint32 timeouts[] = { 0, -1, 1, 40000, G_MAXINT32, G_MININT32 };
  static const gint32 lengths[] = { -1, 0, 3, 64, 65532, 65536, G_MAXINT32, G_MININT32 };

  c.saying = SAYS_TRUTH;
  change (c, true_length);
  c.saying = SAYS_RESPONSE;
  for (gsize i = 0; i < G_N_ELEMENTS (sessions) * G_N_ELEMENTS (timeouts); i++) {
    c.session = sessions[i / G_N_ELEMENTS (timeouts)];
    c.number = timeouts[i % G_N_ELEMENTS (timeouts)];
    change (c, 41);
  }
  c.saying = SAYS_SASL;
  for (int i = 0; i < 4; i++) {
    c.number = i / 2 == 0 ? 0 : -115;
    c.session = -(i % 2); /* the length of the token */
    change (c, 24);
  }
  c.saying = SAYS_OLD;
  for (guint i = 0; i < login_count (c.mechanism); i++) {
    c.session = i;
    change (c, old[c.mechanism][i]->len);
  }
  c.saying = SAYS_LENGTH;
  for (gsize i = 0; i < G_N_ELEMENTS (lengths); i++) {
    c.number = lengths[i];
    change (c, 12);
  }
}

/* The true login comes to its end; how long its messages are. */
static void
learn (LoginMechanism mechanism)
{
  login_lab_open (mechanism, LOGIN_CLEAR, 0);
  assert_null (run_truth (mechanism, G_MAXUINT, 4, old[mechanism]));
  assert_non_null (login_lab.link);
  assert_int_equal (login_lab.link->state, CURATOR_LINK_OPEN);
  login_lab_close ();
}

static gsize
learn_flight (LoginCarrier carrier, guint flight)
{
  login_lab_open (LOGIN_NONE, carrier, 0);
  login_lab.held_flight = flight;
  g_autoptr (GByteArray) bytes = login_lab_wait_for (login_server_take_flight);
  login_lab_close ();
  return bytes->len;
}

TEST (test_handshake)
{
  /* The second flight of TLS 1.3 has tickets, which nobody waits for. */
  for (LoginCarrier carrier = LOGIN_TLS13; carrier <= LOGIN_TLS12; carrier++) {
    for (guint flight = 0; flight < (carrier == LOGIN_TLS12 ? LOGIN_FLIGHTS : 1); flight++) {
      const Case c = {
        .carrier = carrier, .mechanism = LOGIN_DIGEST, .n_true = flight, .saying = SAYS_FLIGHT
      };
      change (c, learn_flight (carrier, flight));
    }
  }
}

static void
try_mechanism (LoginCarrier carrier, LoginMechanism mechanism)
{
  for (int asks = 0; asks <= 1; asks++) {
    for (guint n_true = 0; n_true <= login_count (mechanism); n_true++) {
      const Case c = {
        .carrier = carrier, .mechanism = mechanism, .asked = asks ? SESSION : 0, .n_true = n_true
      };
      say_everything (c, n_true < login_count (mechanism) ? old[mechanism][n_true]->len : 0);
    }
  }
}

TEST (test_messages)
{
  for (LoginCarrier carrier = LOGIN_CLEAR; carrier <= LOGIN_TLS13; carrier++)
    for (LoginMechanism mechanism = LOGIN_NONE; mechanism < N_LOGINS; mechanism++)
      try_mechanism (carrier, mechanism);
  assert_true (n_open > 0);
}

/* What no sample leaves out: bytes of somebody in between, behind each answer of the true server. */
TEST (test_added_bytes)
{
  Case c = { .mechanism = LOGIN_GSSAPI, .change = FOLLOWED };

  for (c.n_true = 0; c.n_true < login_count (LOGIN_GSSAPI); c.n_true++) {
    for (gsize i = 0; i < G_N_ELEMENTS (trailers); i++) {
      c.by = trailers[i];
      assert_int_equal (try_case (&c), CURATOR_CONNECT_ERROR_CONNECT);
    }
  }
}

/* The same of a server that knows no secret: it is refused, or the login does not end. */
static void
try_response (Case c, gboolean is_session)
{
  const CuratorConnectError wanted =
      is_session ? CURATOR_CONNECT_ERROR_SASL : CURATOR_CONNECT_ERROR_CONNECT;
  c.saying = SAYS_RESPONSE;
  for (c.mechanism = LOGIN_DIGEST; c.mechanism < N_LOGINS; c.mechanism++)
    if (try_case (&c) != (int) wanted)
      fail_msg ("%s: code %d", login_lab.text, login_lab.code);
}

TEST (test_responses)
{
  static const gint64 sessions[] = { 0, 7, -1, G_MAXINT64, G_MININT64 };
  static const gint32 timeouts[] = { 0, -1, 1, 10000, G_MAXINT32, G_MININT32 };
  Case c = { .change = AS_IT_IS };

  for (gsize i = 0; i < G_N_ELEMENTS (sessions) * G_N_ELEMENTS (timeouts); i++) {
    c.session = sessions[i / G_N_ELEMENTS (timeouts)];
    c.number = timeouts[i % G_N_ELEMENTS (timeouts)];
    for (c.read_only = -1; c.read_only <= 1; c.read_only++)
      try_response (c, c.session != 0 && c.number > 0 && c.read_only <= 0);
  }
  c = (Case){ .session = 7, .number = 10000 };
  for (c.longer = -16; c.longer < 24; c.longer++)
    try_response (c, c.longer == 0);
  /* What a server says that always agrees. */
  for (gint64 length = -1; length <= 0; length++) {
    const Case agreed = {
      .mechanism = LOGIN_DIGEST, .n_true = 1, .saying = SAYS_SASL, .session = length
    };
    assert_int_equal (try_case (&agreed), CURATOR_CONNECT_ERROR_SASL);
  }
}

static int
start (void **state)
{
  if (realm_start_kdc (state) != 0)
    return -1;
  Realm *realm = *state;
  const char *const make[] = { CURATOR_SOURCE_DIR "/tests/support/make_certificates",
                               realm->directory, "127.0.0.1", NULL };
  if (!realm_run (make) || !realm_log_in (realm))
    return -1;
  login_labs_start (realm->directory);
  for (LoginMechanism mechanism = LOGIN_NONE; mechanism < N_LOGINS; mechanism++)
    learn (mechanism);
  step = g_strcmp0 (g_getenv ("CURATOR_TEST_ADVERSARY"), "all") == 0 ? 1 : SAMPLE;
  return 0;
}

static int
stop (void **state)
{
  for (guint i = 0; i < N_LOGINS * 4; i++)
    g_clear_pointer (&old[i / 4][i % 4], g_byte_array_unref);
  login_labs_stop ();
  print_message ("%u of %u cases, %u of them open a session, %u are refused\n", n_run, n_cases,
                 n_open, n_refused);
  return realm_stop (state);
}

SUITE ("login_adversary", start, stop)
