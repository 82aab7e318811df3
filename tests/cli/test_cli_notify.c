/* What a service manager hears: NOTIFY_SOCKET and WATCHDOG_USEC, as sd_notify(3) has them. */
#include "cli.h"

#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The manager: a socket, and all that it was told. */
typedef struct
{
  int fd;
  char *name; /* as in NOTIFY_SOCKET */
  GString *told;
} Manager;

static Manager *
manager_new (gboolean is_abstract)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  Manager *self = g_new0 (Manager, 1);
  g_autofree char *file = cli_new_file ();

  self->name = is_abstract ? g_strdup_printf ("@%s", file) : g_strdup (file);
  self->told = g_string_new (NULL);
  self->fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  assert_true (strlen (self->name) < sizeof address.sun_path);
  memcpy (address.sun_path, self->name, strlen (self->name));
  if (is_abstract)
    address.sun_path[0] = '\0';
  assert_int_equal (
      bind (self->fd, (struct sockaddr *) &address,
            (socklen_t) (offsetof (struct sockaddr_un, sun_path) + strlen (self->name))),
      0);
  return self;
}

static void
manager_free (Manager *self)
{
  close (self->fd);
  g_unlink (self->name);
  g_free (self->name);
  g_string_free (self->told, TRUE);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Manager, manager_free)

static void
manager_hear (Manager *self, int timeout_ms)
{
  struct pollfd poll_fd = { .fd = self->fd, .events = POLLIN };
  char text[1024];

  if (poll (&poll_fd, 1, timeout_ms) == 1)
    {
      const gssize n = recv (self->fd, text, sizeof text, 0);
      assert_true (n > 0);
      g_string_append_len (self->told, text, n);
      g_string_append_c (self->told, '\n');
    }
}

/* Waits for that whole line. */
static void
assert_told (Manager *self, const char *line)
{
  g_autofree char *wanted = g_strdup_printf ("\n%s\n", line);
  const gint64 end = wait_now_ms () + CLI_MS;

  for (;;)
    {
      g_autofree char *all = g_strdup_printf ("\n%s", self->told->str);
      if (strstr (all, wanted) != NULL)
        return;
      if (wait_now_ms () >= end)
        fail_msg ("not told \"%s\", but:\n%s", line, self->told->str);
      manager_hear (self, 100);
    }
}

static void
assert_not_told (Manager *self, const char *text)
{
  manager_hear (self, 0);
  assert_null (strstr (self->told->str, text));
}

/* zkflock gets it from its manager; nobody else here shall. */
static Cli *
start_service (Fixture *fixture, Manager *manager, const char *watchdog_pid, const char *path,
               const char *log)
{
  g_setenv ("NOTIFY_SOCKET", manager->name, TRUE);
  g_setenv ("WATCHDOG_USEC", "200000", TRUE);
  if (watchdog_pid != NULL)
    g_setenv ("WATCHDOG_PID", watchdog_pid, TRUE);
  Cli *service = cli_zkflock (fixture_server (fixture), path, CLI_COMMAND, "show", log, NULL);
  g_unsetenv ("NOTIFY_SOCKET");
  g_unsetenv ("WATCHDOG_USEC");
  g_unsetenv ("WATCHDOG_PID");
  return service;
}

TEST (place_then_readiness)
{
  g_autoptr (Manager) manager = manager_new (FALSE);
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder = cli_hold (fixture, "--label", "first@host", "/notify", NULL);
  g_autoptr (Cli) service = start_service (fixture, manager, NULL, "/notify", log);
  assert_told (manager, "STATUS=connecting");
  assert_told (manager, "STATUS=waiting: 1 of 1, held by first@host");
  assert_told (manager, "WATCHDOG=1");
  assert_not_told (manager, "READY=1");
  assert_not_told (manager, "STOPPING=1");
  cli_close_stdin (holder);
  assert_told (manager, "READY=1");
  assert_told (manager, "STATUS=holding the lock");
  assert_told (manager, "STOPPING=1");
  assert_int_equal (cli_wait (service, CLI_MS), 0);
  /* It speaks for zkflock alone. */
  assert_true (cli_wait_lines (log, "ENV CURATOR_LOCK_PATH=/notify", 1, CLI_MS));
  assert_false (cli_wait_lines (log, "ENV NOTIFY_", 1, 0));
  assert_false (cli_wait_lines (log, "ENV WATCHDOG_", 1, 0));
}

/* A socket without a file, and a watchdog that is meant for another process. */
TEST (abstract_socket_and_foreign_watchdog)
{
  g_autoptr (Manager) manager = manager_new (TRUE);
  LOG log = cli_new_file ();
  g_autoptr (Cli) service = start_service (fixture, manager, "1", "/abstract", log);

  assert_told (manager, "READY=1");
  assert_told (manager, "STOPPING=1");
  assert_int_equal (cli_wait (service, CLI_MS), 0);
  assert_not_told (manager, "WATCHDOG=1");
  assert_false (cli_wait_lines (log, "ENV WATCHDOG_", 1, 0));
}

/* A manager that is gone, or a name that is none, is nobody's trouble. */
TEST (nobody_listens)
{
  g_setenv ("NOTIFY_SOCKET", "/no/such/socket", TRUE);
  g_free (cli_run (fixture, 0, "/deaf", CLI_COMMAND, "exit", "0", NULL));
  g_setenv ("NOTIFY_SOCKET", "nonsense", TRUE);
  g_free (cli_run (fixture, 0, "/deaf", CLI_COMMAND, "exit", "0", NULL));
  g_unsetenv ("NOTIFY_SOCKET");
}

SUITE ("notify", fixture_start, fixture_stop)
