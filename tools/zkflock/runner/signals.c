/* Delivers signals in the main loop. They are blocked from the start, so that none is missed. */
#include "runner/signals.h"

#include <glib-unix.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static sigset_t handled;
static sigset_t original;
static SignalHandler current_handler;
static gpointer current_data;
static pid_t own_children[2];

gboolean
signal_stops (int signal)
{
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

void
signals_note_stop (int signal, gpointer data)
{
  if (signal_stops (signal))
    *(gboolean *) data = TRUE;
}

void
signals_block (void)
{
  static const int all[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGCHLD };

  sigemptyset (&handled);
  for (gsize i = 0; i < G_N_ELEMENTS (all); i++) {
    struct sigaction action = { 0 };
    sigaction (all[i], NULL, &action);
    if (all[i] == SIGCHLD || action.sa_handler != SIG_IGN)
      sigaddset (&handled, all[i]);
  }
  /* With SIGCHLD ignored, the kernel would reap children itself. */
  signal (SIGCHLD, SIG_DFL);
  sigset_t blocked = handled;
  /* tcsetpgrp() must not stop zkflock, and a write must not end it: to a closed pipe, or to a file
   * that has reached its limit. */
  sigaddset (&blocked, SIGTTOU);
  sigaddset (&blocked, SIGPIPE);
  sigaddset (&blocked, SIGXFSZ);
  sigprocmask (SIG_BLOCK, &blocked, &original);
}

void
signals_restore (void)
{
  sigprocmask (SIG_SETMASK, &original, NULL);
}

/* The processes whose parents have ended become children of process 1. */
static void
reap_orphans (void)
{
  siginfo_t info = { 0 };

  while (getpid () == 1 && waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0
         && info.si_pid > 0 && info.si_pid != own_children[0] && info.si_pid != own_children[1]) {
    waitpid (info.si_pid, NULL, 0);
    info.si_pid = 0;
  }
}

static gboolean
on_readable (int fd, GIOCondition condition, gpointer data)
{
  struct signalfd_siginfo info;

  while (read (fd, &info, sizeof info) == (gssize) sizeof info) {
    if (info.ssi_signo == SIGCHLD)
      reap_orphans ();
    if (current_handler != NULL)
      current_handler ((int) info.ssi_signo, current_data);
  }
  return G_SOURCE_CONTINUE;
}

gboolean
signals_start (void)
{
  const int fd = signalfd (-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0)
    return FALSE;
  g_unix_fd_add_full (G_PRIORITY_HIGH, fd, G_IO_IN, on_readable, NULL, NULL);
  return TRUE;
}

void
signals_keep_children (pid_t first, pid_t second)
{
  own_children[0] = first;
  own_children[1] = second;
}

void
signals_set_handler (SignalHandler handler, gpointer data)
{
  current_handler = handler;
  current_data = data;
}
