/* One connection of the channel whose server, TLS and SASL are this program's: partial writes,
 * servers that only open sessions, and servers that move. */
#include "addresses.h"
#include "unit.h"

#include "channel/link_server.h"
#include "support/link_lab.h"

#include <string.h>

#define SESSION    0x1234
#define TIMEOUT_MS 40000

static void
log_in (void)
{
  lab_run ();
  lab_send_response (SESSION, TIMEOUT_MS);
  for (guint step = 1; step <= LAB_STEPS + (lab.login == LAB_CLIENT_SPEAKS_LAST); step++) {
    lab_run ();
    lab_send_challenge (step);
  }
  lab_run ();
}

/* However slowly the server takes what we send, and though it answers before it has all of it: each
 * frame is written whole before the answer is read. The laboratory checks each write. */
TEST (test_frames_are_written_whole)
{
  for (LabLogin login = LAB_NO_LOGIN; login <= LAB_CLIENT_SPEAKS_LAST; login++) {
    guint step = 0;
    lab_open (login);
    lab_connect (0, TIMEOUT_MS);
    lab.window = 0;
    lab_send_response (SESSION, TIMEOUT_MS);
    for (int i = 0; i < 1000 && lab.link->state != CURATOR_LINK_OPEN; i++) {
      lab_run ();
      if (lab.at == lab.script->len)
        lab_send_challenge (++step);
      lab.window = 1;
    }
    assert_int_equal (lab.link->state, CURATOR_LINK_OPEN);
    assert_string_equal (lab.log->str, "");
    assert_int_equal (lab.n_connects, 1);
    lab_close ();
  }
}

/* The pause before the next attempt, in microseconds, and at least so much; 0: none. */
static gint64
pause_of_next (gint64 *least_us)
{
  const gint64 before_us = g_get_monotonic_time ();
  lab_connect (SESSION, TIMEOUT_MS);
  *least_us = lab.link->deadline_us - g_get_monotonic_time ();
  return lab.link->state == CURATOR_LINK_PAUSED ? lab.link->deadline_us - before_us : 0;
}

TEST (test_sessions_without_an_answer)
{
  static const guint8 part[16] = { [2] = 1 }; /* of a frame of 256 bytes */
  gint64 before = 0, least;

  lab_open (LAB_CLIENT_SPEAKS_LAST);
  assert_int_equal (pause_of_next (&least), 0);
  for (int i = 0; i < 6; i++) {
    log_in ();
    assert_int_equal (lab.link->state, CURATOR_LINK_OPEN);
    lab.ends = TRUE;
    lab_run ();
    assert_null (lab.link);
    assert_non_null (strstr (lab.log->str, "answered nothing"));
    const gint64 pause = pause_of_next (&least);
    assert_true (2 * pause > 3 * before || pause > G_USEC_PER_SEC / 2);
    before = MAX (least, 0);
    lab_let_deadline_pass ();
  }
  /* An answer ends that; without a request there is none. */
  log_in ();
  lab_send (part, sizeof part);
  lab_run ();
  assert_int_not_equal (lab.context.n_rounds, 0);
  lab_client_sends (20);
  lab_run ();
  lab_send (part, sizeof part);
  lab_run ();
  assert_int_equal (lab.context.n_rounds, 0);
  g_string_truncate (lab.log, 0);
  lab.ends = TRUE;
  lab_run ();
  assert_null (lab.link);
  assert_string_equal (lab.log->str, "");
  assert_int_equal (pause_of_next (&least), 0);
  lab_run (); /* no thread goes on into the next test */
  lab_close ();
}

/* One server. number: its address; "": a name without one. */
static gboolean
change_to (const char *number)
{
  g_autoptr (GPtrArray) servers = servers_of ("zk.test:7");
  resolve (servers, 0, number, NULL);
  return curator_link_change_servers (lab.link, servers);
}

/* A list that comes while there is no connection is tried at once. An open connection goes on. */
TEST (test_other_servers)
{
  lab_open (LAB_NO_LOGIN);
  lab_connect (0, TIMEOUT_MS);
  assert_int_equal (lab.n_connects, 1);
  assert_true (change_to (""));
  assert_int_equal (lab.link->state, CURATOR_LINK_PAUSED);
  assert_string_equal (lab.log->str, "zk.test:7: no name server has answered yet\n");
  assert_true (change_to ("127.0.0.2"));
  assert_int_equal (lab.link->state, CURATOR_LINK_CONNECTING);
  assert_int_equal (lab.n_connects, 2);
  lab_run ();
  assert_int_equal (lab.link->state, CURATOR_LINK_ASKED);
  assert_true (change_to ("127.0.0.2"));
  assert_int_equal (lab.n_connects, 2);
  assert_int_equal (lab.link->state, CURATOR_LINK_ASKED);
  assert_true (change_to ("127.0.0.3"));
  assert_int_equal (lab.n_connects, 3);
  lab_send_response (SESSION, TIMEOUT_MS);
  lab_run ();
  assert_int_equal (lab.link->state, CURATOR_LINK_OPEN);
  assert_true (change_to ("127.0.0.3"));
  assert_false (change_to ("127.0.0.2"));
  assert_int_equal (lab.link->state, CURATOR_LINK_OPEN);
  assert_int_equal (lab.n_connects, 3);
  lab_close ();
}

/* After a refused login nothing is tried, whatever the list. */
TEST (test_no_other_servers_after_a_refusal)
{
  lab_open (LAB_CLIENT_SPEAKS_LAST);
  lab_connect (0, TIMEOUT_MS);
  lab_run ();
  lab_send_response (SESSION, TIMEOUT_MS);
  lab_run ();
  lab_send_sasl (-115, NULL, 0);
  lab_run ();
  assert_true (lab.is_refused);
  assert_true (change_to ("127.0.0.2"));
  assert_int_equal (lab.link->state, CURATOR_LINK_PAUSED);
  assert_int_equal (lab.n_connects, 1);
  lab_close ();
}

SUITE ("channel link", NULL, NULL)
