#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct
{
  int fd; /* -1: no terminal */
  pid_t group;
} Terminal;

void terminal_open (Terminal *terminal, pid_t group);
void terminal_close (Terminal *terminal);
/* Whether standard input and output are the terminal. */
gboolean terminal_is_standard (const Terminal *terminal);
/* Makes the command's group the foreground one; FALSE unless zkflock's group was. */
gboolean terminal_give (Terminal *terminal);
/* Makes zkflock's group the foreground one; FALSE unless the command's group was. */
gboolean terminal_take_back (Terminal *terminal);
/* A key of the terminal ended the command: sends that signal to zkflock's own group. */
void terminal_pass_signal (int signal);
/* At the very end: dies of the signal that was passed, if any. Otherwise a shell that waits for
 * zkflock would continue its script. */
void terminal_follow_signal (void);
