/* What zkflock runs in the tests: one program, many modes, no shell.
 *
 *   exit N              ends with N
 *   signal N            dies of signal N
 *   turn LOG MS         logs IN and OUT around a sleep of MS
 *   meet LOG N          logs IN, waits until the log has N of them, logs OUT
 *   beat LOG            logs BEAT every few milliseconds, for three minutes at most
 *   stubborn LOG        beats, ignores TERM, and so does a child of it
 *   daemon LOG          beats, and so does a grandchild whose parent has ended
 *   keys LOG            logs each line of standard input as KEY
 *   crowd LOG N         leaves the group N times, logs IN, and GOT for each TERM; ends when all have ended
 *   escape LOG          beats, and so does a child in a session of its own
 *   root LOG            becomes root for good, as sudo does, and beats (set-uid root needed)
 *   leave_root LOG      becomes root, leaves a child behind that beats, and ends (set-uid root needed)
 *   orphans LOG N       beats N times, and leaves a child behind that ends at each beat
 *   leave LOG           leaves a child behind that beats, and ends
 *   polite LOG N        beats; on TERM logs GOT and ends with N
 *   show LOG            logs environment, descriptors and process group
 */
#define LINE_MAX_LENGTH 4096

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BEAT_MS  5
#define MAX_BEAT (180 * 1000 / BEAT_MS) /* longer than what a command survives at T = 60 s */

static const char *log_file;
static int log_fd = -1;
static volatile sig_atomic_t terminated;

static long long
now_ns (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (long long) now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
sleep_ms (int ms)
{
  const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000 };
  nanosleep (&time, NULL);
}

static void say (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* One write a line, so that lines of several processes never mix. */
static void
say (const char *format, ...)
{
  char line[LINE_MAX_LENGTH];
  va_list args;
  va_start (args, format);
  const int length = vsnprintf (line, sizeof line, format, args);
  va_end (args);
  if (write (log_fd, line, (size_t) length) != length)
    _exit (99);
}

static int
beat (int n)
{
  for (int i = 0; i < MAX_BEAT && !terminated; i++) {
    say ("BEAT %d %lld\n", (int) getpid (), now_ns ());
    sleep_ms (BEAT_MS);
  }
  return 0;
}

static void
on_term (int number)
{
  terminated = 1;
}

static int
be_stubborn (int n)
{
  signal (SIGTERM, SIG_IGN);
  fork ();
  return beat (n);
}

static int
escape (int n)
{
  if (fork () == 0)
    setsid ();
  return beat (n);
}

/* As many processes in groups of their own, each of which waits for TERM. In sessions of their own
 * the kernel would schedule each of them like everybody else together. */
static int
be_a_crowd (int n)
{
  signal (SIGTERM, SIG_IGN);
  for (int i = 0; i < n; i++) {
    if (fork () == 0) {
      sigset_t term;
      int number;
      sigemptyset (&term);
      sigaddset (&term, SIGTERM);
      sigprocmask (SIG_BLOCK, &term, NULL);
      signal (SIGTERM, on_term);
      setpgid (0, 0);
      say ("IN %d\n", (int) getpid ());
      sigwait (&term, &number);
      say ("GOT %d\n", (int) getpid ());
      _exit (0);
    }
  }
  while (wait (NULL) > 0) {
  }
  return 0;
}

static int
become_root (int n)
{
  return setresuid (0, 0, 0) == 0 ? beat (n) : 95;
}

static int
count_lines (const char *start)
{
  FILE *log = fopen (log_file, "re");
  char line[LINE_MAX_LENGTH];
  int n = 0;

  while (log != NULL && fgets (line, sizeof line, log) != NULL)
    n += strncmp (line, start, strlen (start)) == 0;
  if (log != NULL)
    fclose (log);
  return n;
}

static int
leave_child (int n)
{
  if (fork () == 0)
    _exit (beat (n));
  while (count_lines ("BEAT ") == 0)
    sleep_ms (BEAT_MS);
  sleep_ms (100);
  return 4;
}

static int
leave_root (int n)
{
  return setresuid (0, 0, 0) == 0 ? leave_child (n) : 95;
}

static int
make_orphans (int n)
{
  for (int i = 0; i < n; i++) {
    const pid_t child = fork ();
    if (child == 0)
      _exit (fork () == 0 ? 0 : 1);
    waitpid (child, NULL, 0);
    say ("BEAT %d %lld\n", (int) getpid (), now_ns ());
    sleep_ms (BEAT_MS);
  }
  return 0;
}

static int
start_grandchild (int n)
{
  if (fork () == 0) {
    if (fork () == 0)
      beat (n);
    _exit (0);
  }
  return beat (n);
}

static int
log_keys (int n)
{
  char line[LINE_MAX_LENGTH / 2];

  say ("READY %d\n", tcgetpgrp (STDIN_FILENO) == getpgrp ());
  while (fgets (line, sizeof line, stdin) != NULL)
    say ("KEY %s", line);
  return 0;
}

static int
take_turn (int ms)
{
  say ("IN %lld\n", now_ns ());
  sleep_ms (ms);
  say ("OUT %lld\n", now_ns ());
  return 0;
}

static int
meet (int n)
{
  say ("IN %lld\n", now_ns ());
  for (int i = 0; i < MAX_BEAT && count_lines ("IN ") < n; i++)
    sleep_ms (BEAT_MS);
  say ("OUT %lld\n", now_ns ());
  return 0;
}

static int
be_polite (int code)
{
  signal (SIGTERM, on_term);
  beat (0);
  say ("GOT %lld\n", now_ns ());
  return code;
}

static int
show (int n)
{
  DIR *folder = opendir ("/proc/self/fd");

  for (char **entry = environ; *entry != NULL; entry++)
    if (strncmp (*entry, "CURATOR_LOCK_", 13) == 0 || strncmp (*entry, "NOTIFY_", 7) == 0
        || strncmp (*entry, "WATCHDOG_", 9) == 0)
      say ("ENV %s\n", *entry);
  for (struct dirent *entry; folder != NULL && (entry = readdir (folder)) != NULL;) {
    const int fd = atoi (entry->d_name);
    if (*entry->d_name != '.' && fd != log_fd && fd != dirfd (folder))
      say ("FD %d\n", fd);
  }
  say ("GROUP %d\n", getpgrp () == getpid ());
  return 0;
}

static const struct
{
  const char *name;
  int (*run) (int n);
} modes[] = {
  { "turn", take_turn },
  { "meet", meet },
  { "beat", beat },
  { "stubborn", be_stubborn },
  { "daemon", start_grandchild },
  { "keys", log_keys },
  { "crowd", be_a_crowd },
  { "escape", escape },
  { "root", become_root },
  { "leave_root", leave_root },
  { "orphans", make_orphans },
  { "leave", leave_child },
  { "polite", be_polite },
  { "show", show },
};

int
main (int argc, char **argv)
{
  if (argc < 3)
    return 97;
  if (strcmp (argv[1], "exit") == 0)
    return atoi (argv[2]);
  if (strcmp (argv[1], "signal") == 0) {
    raise (atoi (argv[2]));
    return 96;
  }
  log_file = argv[2];
  log_fd = open (log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0)
    return 98;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (strcmp (argv[1], modes[i].name) == 0)
      return modes[i].run (argc > 3 ? atoi (argv[3]) : 0);
  return 97;
}
