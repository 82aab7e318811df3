/* What a service manager hears: NOTIFY_SOCKET and WATCHDOG_USEC, as sd_notify(3) has them. */
#include "cli.h"

#include <glib/gstdio.h>
#include <string.h>
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
  Manager *self = g_new0 (Manager, 1);
  g_autofree char *file = cli_new_file ();

  self->name = g_strconcat (is_abstract ? "@" : "", file, NULL);
  self->told = g_string_new ("\n");
  self->fd = cli_listen_to_datagrams (self->name);
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

static gboolean
is_told (Manager *self, const char *line)
{
  g_autofree char *wanted = g_strdup_printf ("\n%s\n", line);

  cli_hear (self->fd, self->told, 100);
  return strstr (self->told->str, wanted) != NULL;
}

/* Waits for that whole line. */
static void
assert_told (Manager *self, const char *line)
{
  if (!holds_within (is_told (self, line), CLI_MS))
    fail_msg ("not told \"%s\", but:%s", line, self->told->str);
}

static void
assert_not_told (Manager *self, const char *text)
{
  cli_hear (self->fd, self->told, 0);
  assert_null (strstr (self->told->str, text));
}

/* zkflock gets it from its manager; nobody else here shall. */
static Cli *
start_service (Fixture *fixture, Manager *manager, const char *watchdog_pid, const char *path)
{
  g_setenv ("NOTIFY_SOCKET", manager->name, TRUE);
  g_setenv ("WATCHDOG_USEC", "4000000", TRUE); /* few, where nobody hears them for a while */
  if (watchdog_pid != NULL)
    g_setenv ("WATCHDOG_PID", watchdog_pid, TRUE);
  Cli *service = cli_zkflock (fixture_server (fixture), path, COMMAND ("show"));
  g_unsetenv ("NOTIFY_SOCKET");
  g_unsetenv ("WATCHDOG_USEC");
  g_unsetenv ("WATCHDOG_PID");
  return service;
}

TEST (place_then_readiness)
{
  g_autoptr (Manager) manager = manager_new (FALSE);
  g_autoptr (Cli) holder = cli_hold (fixture, "--label", "first@host", "/notify");
  g_autoptr (Cli) service = start_service (fixture, manager, NULL, "/notify");
  assert_told (manager, "STATUS=connecting");
  assert_told (manager, "STATUS=waiting: 1 of 1, held by first@host");
  assert_told (manager, "WATCHDOG=1");
  assert_not_told (manager, "READY=1");
  assert_not_told (manager, "STOPPING=1");
  cli_close_stdin (holder);
  assert_told (manager, "READY=1");
  assert_told (manager, "STATUS=holding the lock");
  assert_told (manager, "STOPPING=1");
  cli_ends (service, 0, NULL);
  /* It speaks for zkflock alone. */
  assert_true (cli_wait_lines (service->log, "ENV CURATOR_LOCK_PATH=/notify", 1, CLI_MS));
  assert_false (cli_wait_lines (service->log, "ENV NOTIFY_", 1, 0));
  assert_false (cli_wait_lines (service->log, "ENV WATCHDOG_", 1, 0));
}

/* A socket without a file, and a watchdog that is meant for another process. */
TEST (abstract_socket_and_foreign_watchdog)
{
  g_autoptr (Manager) manager = manager_new (TRUE);
  g_autoptr (Cli) service = start_service (fixture, manager, "1", "/abstract");

  assert_told (manager, "READY=1");
  assert_told (manager, "STOPPING=1");
  cli_ends (service, 0, NULL);
  assert_not_told (manager, "WATCHDOG=1");
  assert_false (cli_wait_lines (service->log, "ENV WATCHDOG_", 1, 0));
}

/* A manager that is gone, or a name that is none, is nobody's trouble. */
TEST (nobody_listens)
{
  g_setenv ("NOTIFY_SOCKET", "/no/such/socket", TRUE);
  cli_exits (fixture, 0, "/deaf", "true");
  g_setenv ("NOTIFY_SOCKET", "nonsense", TRUE);
  cli_exits (fixture, 0, "/deaf", "true");
  g_unsetenv ("NOTIFY_SOCKET");
}

SUITE ("notify", fixture_start_slow, fixture_stop)
