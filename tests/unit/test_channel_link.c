/* One connection of the channel whose server, TLS and SASL are this program's: partial writes, servers
 * that only open sessions, and name servers that hang. */
#include "unit.h"

#include "support/link_lab.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#define SESSION    0x1234
#define TIMEOUT_MS 40000

static int n_lookups;
static gboolean lookups_hang;
static sem_t hang;

/* In place of the C library's. */
CURATOR_API
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  typedef int (*GetAddrInfo) (const char *, const char *, const struct addrinfo *,
                              struct addrinfo **);
  GetAddrInfo real = (GetAddrInfo) dlsym (RTLD_NEXT, "getaddrinfo");

  g_atomic_int_inc (&n_lookups);
  while (g_atomic_int_get (&lookups_hang) && sem_wait (&hang) != 0)
    {
    }
  return real (node, service, hints, found);
}

static void
log_in (void)
{
  lab_run ();
  lab_send_response (SESSION, TIMEOUT_MS);
  for (guint step = 1; step <= LAB_STEPS + (lab.login == LAB_CLIENT_SPEAKS_LAST); step++)
    {
      lab_run ();
      lab_send_challenge (step);
    }
  lab_run ();
}

/* However slowly the server takes what we send, and though it answers before it has all of it: each frame
 * is written whole before the answer is read. The laboratory checks each write. */
static void
test_frames_are_written_whole (void **state)
{
  for (LabLogin login = LAB_NO_LOGIN; login <= LAB_CLIENT_SPEAKS_LAST; login++)
    {
      guint step = 0;
      lab_open (login);
      lab_connect (0, TIMEOUT_MS);
      lab.window = 0;
      lab_send_response (SESSION, TIMEOUT_MS);
      for (int i = 0; i < 1000 && lab.link->state != CURATOR_LINK_OPEN; i++)
        {
          lab_run ();
          if (lab.at == lab.script->len)
            {
              lab_send_challenge (++step);
            }
          lab.window = 1;
        }
      assert_int_equal (lab.link->state, CURATOR_LINK_OPEN);
      assert_string_equal (lab.log->str, "");
      assert_int_equal (lab.n_connects, 1);
      lab_close ();
    }
}

/* The pause before the next attempt, in microseconds; 0: none. */
static gint64
pause_of_next (void)
{
  lab_connect (SESSION, TIMEOUT_MS);
  return lab.link->state == CURATOR_LINK_PAUSED ? lab.link->deadline_us - g_get_monotonic_time ()
                                                : 0;
}

static void
test_sessions_without_an_answer (void **state)
{
  gint64 before = 0;

  lab_open (LAB_CLIENT_SPEAKS_LAST);
  assert_int_equal (pause_of_next (), 0);
  for (int i = 0; i < 6; i++)
    {
      log_in ();
      assert_int_equal (lab.link->state, CURATOR_LINK_OPEN);
      lab.ends = TRUE;
      lab_run ();
      assert_null (lab.link);
      assert_non_null (strstr (lab.log->str, "answered nothing"));
      const gint64 pause = pause_of_next ();
      assert_true (pause > before || pause > G_USEC_PER_SEC / 2);
      before = pause;
      lab_let_deadline_pass ();
    }
  /* An answer ends that; without a request there is none. */
  log_in ();
  lab_send ("0123456789abcdef", 16);
  lab_run ();
  assert_int_not_equal (lab.context.n_rounds, 0);
  lab_client_sends (20);
  lab_run ();
  lab_send ("0123456789abcdef", 16);
  lab_run ();
  assert_int_equal (lab.context.n_rounds, 0);
  g_string_truncate (lab.log, 0);
  lab.ends = TRUE;
  lab_run ();
  assert_null (lab.link);
  assert_string_equal (lab.log->str, "");
  assert_int_equal (pause_of_next (), 0);
  lab_run (); /* no thread goes on into the next test */
  lab_close ();
}

/* However often it is tried again: one thread waits for the name. */
static void
test_a_name_server_that_hangs (void **state)
{
  sem_init (&hang, 0, 0);
  lab_open (LAB_NO_LOGIN);
  g_atomic_int_set (&n_lookups, 0);
  g_atomic_int_set (&lookups_hang, TRUE);
  lab_connect (0, TIMEOUT_MS);
  for (guint i = 1; i <= 8; i++)
    {
      assert_int_equal (lab.link->state, CURATOR_LINK_RESOLVING);
      lab_let_deadline_pass ();
      assert_int_equal (lab.link->state, CURATOR_LINK_PAUSED);
      assert_int_equal (lab.n_failures, i);
      lab_let_deadline_pass ();
    }
  while (g_atomic_int_get (&n_lookups) == 0)
    {
      g_usleep (1000);
    }
  g_atomic_int_set (&lookups_hang, FALSE);
  sem_post (&hang);
  lab_run ();
  assert_int_equal (lab.link->state, CURATOR_LINK_ASKED);
  assert_int_equal (g_atomic_int_get (&n_lookups), 1);
  lab_close ();
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_frames_are_written_whole),
    cmocka_unit_test (test_sessions_without_an_answer),
    cmocka_unit_test (test_a_name_server_that_hangs),
  };
  return cmocka_run_group_tests (tests, NULL, NULL);
}
