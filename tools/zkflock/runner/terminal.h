/* The controlling terminal: who reads its keys, and whom Ctrl-C and Ctrl-Z reach.
 *
 * The command has a process group of its own, so the terminal has to be handed to it, or it would be
 * stopped as soon as it reads. It gets it at once when standard input and output are the terminal.
 * In a pipeline others of our group may need it (zkflock PATH COMMAND | less); then the command gets
 * it when it asks.
 */
#ifndef ZKFLOCK_TERMINAL_H
#define ZKFLOCK_TERMINAL_H

#include <glib.h>
#include <sys/types.h>

typedef struct
{
  int fd; /* -1: there is none */
  pid_t group;
} Terminal;

void terminal_open (Terminal *terminal, pid_t group);
void terminal_close (Terminal *terminal);
/* Whether standard input and output are it. */
gboolean terminal_is_standard (const Terminal *terminal);
/* Hands it over if it is ours to give; FALSE if not. */
gboolean terminal_give (Terminal *terminal);
/* FALSE: the group does not have it. */
gboolean terminal_take_back (Terminal *terminal);
/* A key of the terminal has ended the command: everybody else in our group hears of it now... */
void terminal_pass_signal (int signal);
/* ... and at the very end we die of it, too, if there was one: a shell that waits for us goes on with
 * its script otherwise. */
void terminal_follow_signal (void);

#endif
