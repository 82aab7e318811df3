/* A terminal with a program in it.
 *
 * It knows what zkflock and a shell without line editing write: characters, CR, LF, BS, cursor
 * home, erase line and screen, colours (ignored), and the alternate screen. As on xterm, a
 * character in the last column leaves the cursor on it, and erasing to the end of the line then
 * takes that character.
 */
#ifndef CURATOR_TEST_TERMINAL_H
#define CURATOR_TEST_TERMINAL_H

#include <glib.h>
#include <sys/types.h>

#define TERMINAL_COLUMNS 80
#define TERMINAL_ROWS    24

typedef struct _Terminal Terminal;

/* argv[0] is a path. It is the leader of a session of its own and dies with the test. */
Terminal *terminal_start (char *const *argv); /* 80 columns, 24 rows */
Terminal *terminal_start_sized (char *const *argv, int columns, int rows);
/* As a user who drags the corner of the window: the program gets SIGWINCH. */
void terminal_resize (Terminal *terminal, int columns, int rows);
/* Kills what still runs. */
void terminal_free (Terminal *terminal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Terminal, terminal_free)

pid_t terminal_get_pid (Terminal *terminal);
/* As if typed. */
void terminal_type (Terminal *terminal, const char *keys);
/* Takes what has been written, until the screen has that text. */
gboolean terminal_wait_text (Terminal *terminal, const char *text, int timeout_ms);
/* The same, until the screen does not have it. */
gboolean terminal_wait_no_text (Terminal *terminal, const char *text, int timeout_ms);
/* The same, until the row of the cursor ends with that. */
gboolean terminal_wait_prompt (Terminal *terminal, const char *prompt, int timeout_ms);
/* As of waitpid(); FALSE when it still runs. */
gboolean terminal_wait_end (Terminal *terminal, int timeout_ms, int *status);
/* A row without the spaces at its end. */
char *terminal_get_row (Terminal *terminal, int row);
/* All rows, for people. */
char *terminal_get_picture (Terminal *terminal);
gboolean terminal_is_alternate (Terminal *terminal);
/* Rows that have left at the top. */
int terminal_get_n_scrolled (Terminal *terminal);
gboolean terminal_has_colours (Terminal *terminal);

#endif
