/* The network before a login, generated: in every state of a connection through the channel, every
 * message that a server could send next, changed in every way. The laboratory checks after each
 * turn that nothing is written outside of a buffer, and that a client which was told to
 * authenticate is not connected before its mechanism is complete, the server's proof included.
 *
 * A sample by default; all of it with CURATOR_TEST_ADVERSARY=all.
 */
#include "unit.h"

#include "support/link_lab.h"
#include "support/net.h"

#include <string.h>

#define SESSION    0x1234
#define TIMEOUT_MS 40000
#define SAMPLE     23 /* one of so many */

typedef struct
{
  LabLogin login;
  gint64 asked;  /* the session that libzookeeper asks for */
  guint n_true;  /* messages of the true server before */
  gsize split;   /* the message comes in two pieces; 0: in one */
  gsize trailer; /* bytes that follow */
  gboolean ends; /* then the connection does */
} Case;

static guint n_cases;
static guint n_run;
static guint n_open;
static guint step = SAMPLE;

static guint
count_true (LabLogin login)
{
  return login == LAB_NO_LOGIN ? 1 : 1 + LAB_STEPS + (login == LAB_CLIENT_SPEAKS_LAST);
}

static void
send_true (guint n)
{
  if (n == 0)
    lab_send_response (SESSION, TIMEOUT_MS);
  else
    lab_send_challenge (n);
}

static void
run_case (const Case *c, const guint8 *message, gsize size)
{
  static const guint8 trailer[200 * 1024];

  if (n_cases++ % step != 0)
    return;
  n_run++;
  lab_open (c->login);
  lab_connect (c->asked, TIMEOUT_MS);
  for (guint i = 0; i < c->n_true; i++) {
    lab_run ();
    send_true (i);
  }
  lab_run ();
  if (c->split > 0) {
    lab_send (message, c->split);
    lab_run ();
  }
  lab_send (message + c->split, size - c->split);
  lab_send (trailer, c->trailer);
  lab.ends = c->ends;
  lab_run ();
  n_open += lab.link != NULL && lab.link->state == CURATOR_LINK_OPEN;
  lab_client_sends (c->trailer % 5000);
  lab_run ();
  lab_let_deadline_pass ();
  lab_run ();
  lab_close ();
}

/* The message as it is, and changed. */
static void
vary (Case c, GByteArray *message)
{
  static const gsize trailers[] = { 1, 4, 20, 41, 65471, 65495, 65512, 65516, 65536, 200 * 1024 };
  g_autoptr (GByteArray) twice = g_byte_array_new ();

  for (int ends = 0; ends <= 1; ends++) {
    c.ends = ends;
    c.split = c.trailer = 0;
    run_case (&c, message->data, message->len);
    for (gsize n = 0; n < message->len; n++) {
      run_case (&c, message->data, n); /* truncated */
      c.split = n;
      run_case (&c, message->data, message->len);
      c.split = 0;
    }
    for (gsize i = 0; i < G_N_ELEMENTS (trailers); i++) {
      c.trailer = trailers[i];
      run_case (&c, message->data, message->len);
    }
    c.trailer = 0;
    g_byte_array_set_size (twice, 0);
    g_byte_array_append (twice, message->data, message->len);
    g_byte_array_append (twice, message->data, message->len);
    run_case (&c, twice->data, twice->len);
    /* Grown and shrunk: the length is another one than that of the content. */
    for (int by = -9; by <= 9; by++) {
      const guint32 length = GUINT32_TO_BE ((guint32) net_get_int32 (message->data) + (guint32) by);
      g_byte_array_set_size (twice, 0);
      g_byte_array_append (twice, message->data, message->len);
      g_byte_array_set_size (twice, message->len + (guint) MAX (by, 0));
      memset (twice->data + message->len, 0, (gsize) MAX (by, 0));
      memcpy (twice->data, &length, sizeof length);
      run_case (&c, twice->data, message->len + (gsize) MAX (by, 0));
    }
  }
}

/* The message that lab_send_…() have written. */
static void
vary_script (const Case *c)
{
  g_autoptr (GByteArray) message = g_steal_pointer (&lab.script);
  vary (*c, message);
  lab.script = g_byte_array_new (); /* lab_open () has made scripts of its own for the cases */
}

static void
try_all_messages (const Case *c)
{
  static const gint64 sessions[] = { 0, SESSION, -1, G_MININT64 };
  static const gint32 timeouts[] = { 0, -1, 1, TIMEOUT_MS, G_MAXINT32, G_MININT32 };
  static const gint32 lengths[] = { -1, 0, 3, 64, 65532, 65536, G_MAXINT32, G_MININT32 };

  lab.script = g_byte_array_new ();
  for (gsize i = 0; i < G_N_ELEMENTS (sessions); i++)
    for (gsize j = 0; j < G_N_ELEMENTS (timeouts); j++) {
      lab_send_response (sessions[i], timeouts[j]);
      vary_script (c);
    }
  for (guint n = 1; n <= LAB_STEPS + 1; n++) {
    lab_send_challenge (n);
    vary_script (c);
  }
  for (int code = -115; code <= 0; code += 115)
    for (gint32 length = -1; length <= 0; length++) {
      lab_send_sasl (code, NULL, length);
      vary_script (c);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (lengths); i++) {
    net_put_int32 (lab.script, lengths[i]);
    net_put_int64 (lab.script, 0);
    vary_script (c);
  }
  g_byte_array_unref (lab.script);
}

TEST (test_every_message_in_every_state)
{
  const char *wanted = g_getenv ("CURATOR_TEST_ADVERSARY");
  step = g_strcmp0 (wanted, "all") == 0 ? 1 : SAMPLE;
  for (LabLogin login = LAB_NO_LOGIN; login <= LAB_CLIENT_SPEAKS_LAST; login++)
    for (int asks = 0; asks <= 1; asks++)
      for (guint n_true = 0; n_true <= count_true (login); n_true++) {
        const Case c = { .login = login, .asked = asks ? SESSION : 0, .n_true = n_true };
        try_all_messages (&c);
      }
  print_message ("%u of %u cases, %u of them open a session\n", n_run, n_cases, n_open);
  assert_true (n_run > n_cases / (2 * SAMPLE));
  assert_true (n_open > 0 && n_open < n_run);
}

SUITE ("channel adversary", NULL, NULL)
