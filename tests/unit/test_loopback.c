/* Guests of the loopback port, enumerated: how many of another user come before and behind our own,
 * and what they do, on a host with IPv4 and on one with IPv6 only. Whatever it is, our own request
 * is served. Needs root, to become another user. */
#include "unit.h"

#include "channel/channel_frames.h"
#include "channel/loopback.h"
#include "support/ipv6_only.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRANGER   65534 /* a user */
#define N_SILENT   900   /* connections that a stranger keeps */
#define FRAME_SIZE 48

/* What a stranger does when he is connected. */
enum
{
  STAYS = 's',
  LEAVES = 'l',
  TALKS = 't'
};

static struct
{
  CuratorLoopback *loopback;
  pid_t stranger;
  int to_stranger; /* a socket */
  guint n_served;
} world;

static int
connect_to_port (const CuratorAddress *address)
{
  const int fd = socket (address->name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  (void) !connect (fd, (const struct sockaddr *) &address->name, (socklen_t) address->length);
  return fd;
}

/* In a child of fork (): connects once for each byte, and says so. */
static void
be_a_stranger (int commands, const CuratorAddress *address)
{
  static const guint8 nonsense[FRAME_SIZE] = { 0, 0, 0, FRAME_SIZE - 4 };
  static int silent[N_SILENT];
  guint n = 0;
  char what;

  while (read (commands, &what, 1) == 1) {
    const int fd = connect_to_port (address);
    if (what == TALKS)
      (void) !send (fd, nonsense, sizeof nonsense, MSG_NOSIGNAL);
    if (what == LEAVES) {
      close (fd);
    } else {
      if (silent[n] > 0)
        close (silent[n]);
      silent[n] = fd;
      n = (n + 1) % N_SILENT;
    }
    (void) !write (commands, &what, 1);
  }
  _exit (0);
}

static int
start (void **state)
{
  int fds[2];

  world.loopback = curator_loopback_open ();
  if (world.loopback == NULL || socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return -1;
  world.to_stranger = fds[0];
  world.stranger = fork ();
  if (world.stranger == 0) {
    close (fds[0]);
    if (setgid (STRANGER) != 0 || setuid (STRANGER) != 0)
      _exit (1);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    be_a_stranger (fds[1], curator_loopback_get_address (world.loopback));
  }
  close (fds[1]);
  return world.stranger > 0 ? 0 : -1;
}

static int
stop (void **state)
{
  close (world.to_stranger);
  waitpid (world.stranger, NULL, 0);
  curator_loopback_close (world.loopback);
  return 0;
}

static gboolean
on_frame (int fd, guint8 *frame, gsize size, gpointer data)
{
  if (frame[FRAME_SIZE - 1] == 0)
    return FALSE; /* nonsense */
  world.n_served++;
  close (fd);
  return TRUE;
}

/* Until nothing moves any more. */
static void
turn (void)
{
  struct pollfd fds[CURATOR_LOOPBACK_FDS];

  for (;;) {
    curator_loopback_prepare (world.loopback, fds);
    if (poll (fds, CURATOR_LOOPBACK_FDS, 0) <= 0)
      return;
    curator_loopback_dispatch (world.loopback, fds, on_frame, NULL);
  }
}

static void
strangers_come (guint n, char what)
{
  for (guint i = 0; i < n; i++) {
    char answer;
    assert_int_equal (write (world.to_stranger, &what, 1), 1);
    assert_int_equal (read (world.to_stranger, &answer, 1), 1);
  }
}

static gboolean
is_connected (int fd)
{
  struct pollfd writable = { .fd = fd, .events = POLLOUT };
  int failed = 0;
  socklen_t length = sizeof failed;
  return poll (&writable, 1, 0) == 1 && getsockopt (fd, SOL_SOCKET, SO_ERROR, &failed, &length) == 0
         && failed == 0;
}

static void
come_among (guint n_before, guint n_behind, char what, gboolean turns_between)
{
  static const guint8 request[FRAME_SIZE] = { [3] = FRAME_SIZE - 4, [FRAME_SIZE - 1] = 1 };
  const guint n_served = world.n_served;

  strangers_come (n_before, what);
  if (turns_between)
    turn ();
  const int fd = connect_to_port (curator_loopback_get_address (world.loopback));
  if (turns_between)
    turn ();
  strangers_come (n_behind, what);
  turn ();
  if (is_connected (fd)) {
    (void) !send (fd, request, sizeof request, MSG_NOSIGNAL);
    turn ();
  }
  if (world.n_served != n_served + 1) {
    fail_msg ("%u before and %u behind who %s, %s: not served", n_before, n_behind,
              what == STAYS    ? "stay"
              : what == LEAVES ? "leave"
                               : "talk",
              turns_between ? "one by one" : "at once");
  }
  close (fd);
}

TEST (test_our_own_is_served)
{
  static const guint numbers[] = { 0, 1, 15, 16, 17, 100 };
  static const char kinds[] = { STAYS, LEAVES, TALKS };
  guint n = 0;

  if (geteuid () != 0)
    skip ();
  for (gsize i = 0; i < G_N_ELEMENTS (numbers) * G_N_ELEMENTS (numbers); i++) {
    for (gsize k = 0; k < 2 * G_N_ELEMENTS (kinds); k++, n++) {
      come_among (numbers[i % G_N_ELEMENTS (numbers)], numbers[i / G_N_ELEMENTS (numbers)],
                  kinds[k / 2], k % 2 == 1);
    }
  }
  print_message ("%u cells\n", n);
}

/* Without a place for each: the oldest leaves. */
TEST (test_our_own_displace_each_other)
{
  int fds[CURATOR_LOOPBACK_GUESTS + 1];
  char byte;

  for (gsize i = 0; i < G_N_ELEMENTS (fds); i++) {
    fds[i] = connect_to_port (curator_loopback_get_address (world.loopback));
    turn ();
  }
  come_among (0, 0, STAYS, TRUE);
  assert_int_equal (recv (fds[0], &byte, 1, MSG_DONTWAIT), 0);
  for (gsize i = 0; i < G_N_ELEMENTS (fds); i++)
    close (fds[i]);
  turn ();
}

int
main (void)
{
  int failed = suite_run ("loopback", start, stop);

  if (ipv6_only_enter ()) {
    ipv6_only_begin ();
    failed += suite_run ("loopback of IPv6", start, stop);
  }
  return failed;
}
