/* One connection of the channel from its beginning to its end. The input is what happens to it:
 * what the server sends and in which pieces, who leaves, when jobs end, and when time has passed.
 * The laboratory checks each turn. Besides: what the client writes reaches no server before its
 * mechanism is complete, and whatever has happened, the next connection to the true server is
 * opened.
 */
#include "fuzz.h"

#include "support/link_lab.h"
#include "support/link_lab_job.h"

#include <sys/socket.h>

#define SESSION     0x1234
#define TIMEOUT_MS  40000
#define CLIENT_BYTE 0xc5 /* in no other frame to the server */

/* --- what can happen --- */

typedef struct
{
  const uint8_t *at;
  size_t left;
} Input;

static uint8_t
next (Input *input)
{
  if (input->left == 0)
    return 0;
  input->left--;
  return *input->at++;
}

static const uint8_t *
next_bytes (Input *input, uint8_t *n)
{
  *n = next (input);
  *n = (uint8_t) MIN (*n, input->left);
  const uint8_t *at = input->at;
  input->at += *n;
  input->left -= *n;
  return at;
}

static void
respond (Input *input)
{
  static const gint64 sessions[] = { SESSION, 0, -1, G_MININT64 };
  static const gint32 timeouts[] = { TIMEOUT_MS, 0, -1, 1, G_MAXINT32, G_MININT32 };
  const gint64 session = sessions[next (input) % G_N_ELEMENTS (sessions)];
  lab_send_response (session, timeouts[next (input) % G_N_ELEMENTS (timeouts)]);
}

static void
write_client (Input *input)
{
  static guint8 written[255 * 258];
  memset (written, CLIENT_BYTE, sizeof written);
  if (lab.client_fd >= 0)
    (void) !send (lab.client_fd, written, (gsize) next (input) * 258, MSG_NOSIGNAL);
}

#define N_ACTIONS 17

static void
act (Input *input)
{
  static const guint8 zeros[256 * 258];
  const uint8_t *at;
  uint8_t n;

  switch (next (input) % N_ACTIONS) {
  case 0:
    lab_run ();
    break;
  case 1:
    lab_send_challenge (next (input) % (LAB_STEPS + 3));
    break;
  case 2:
    respond (input);
    break;
  case 3:
    n = next (input) % 2;
    lab_send_sasl (n == 0 ? -115 : 0, NULL, (gint32) (next (input) % 2) - 1);
    break;
  case 4:
    at = next_bytes (input, &n);
    lab_send (at, n);
    break;
  case 5:
    lab_send (zeros, (gsize) next (input) * 258);
    break;
  case 6:
    at = next_bytes (input, &n);
    lab_send_sasl (0, at, n);
    break;
  case 7:
    lab.holds_jobs = lab_jobs.are_held = TRUE;
    break;
  case 8:
    lab_jobs_finish ();
    break;
  case 9:
    lab_jobs.next_fails = TRUE;
    break;
  case 10:
    lab_let_deadline_pass ();
    break;
  case 11:
    lab.chunk = next (input);
    break;
  case 12:
    n = next (input);
    lab.window = n < 255 ? n : G_MAXSSIZE;
    break;
  case 13:
    lab.ends = TRUE;
    break;
  case 14:
    write_client (input);
    break;
  case 15:
    if (lab.client_fd >= 0)
      shutdown (lab.client_fd, SHUT_WR);
    break;
  default:
    lab_connect (next (input) % 2 == 0 ? 0 : SESSION, TIMEOUT_MS);
    break;
  }
}

/* --- properties --- */

static void
check_what_the_server_gets (void)
{
  if (lab.login != LAB_NO_LOGIN && !lab.is_proven && lab.received->len > 0)
    g_assert_null (memchr (lab.received->data, CLIENT_BYTE, lab.received->len));
}

static void
check_that_the_true_server_is_reached (void)
{
  lab.holds_jobs = lab_jobs.are_held = lab_jobs.next_fails = FALSE;
  lab_jobs_finish ();
  lab_connect (0, TIMEOUT_MS);
  if (lab.link->state == CURATOR_LINK_PAUSED)
    lab_let_deadline_pass ();
  lab_run ();
  lab_send_response (SESSION, TIMEOUT_MS);
  for (guint step = 1; lab.login != LAB_NO_LOGIN && step <= LAB_STEPS; step++) {
    lab_run ();
    lab_send_challenge (step);
  }
  lab_run ();
  if (lab.login == LAB_CLIENT_SPEAKS_LAST) {
    g_assert_cmpuint (lab.delivered->len, ==, 0);
    lab_send_challenge (LAB_STEPS + 1);
    lab_run ();
  }
  g_assert_true (lab.link != NULL && lab.link->state == CURATOR_LINK_OPEN);
  g_assert_cmpuint (lab.delivered->len, ==, lab.link->response_size);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  Input input = { .at = data, .left = size };

  lab_open (next (&input) % 3);
  lab_connect (next (&input) % 2 == 0 ? 0 : SESSION, TIMEOUT_MS);
  while (input.left > 0) {
    act (&input);
    check_what_the_server_gets ();
  }
  lab_run ();
  check_what_the_server_gets ();
  check_that_the_true_server_is_reached ();
  lab_close ();
  return 0;
}
