/* A terminal with a program in it.
 *
 * It knows what zkflock and a shell without line editing write: characters, CR, LF, BS, cursor
 * home, erase line and screen, colours (ignored), and the alternate screen. As on xterm, a
 * character in the last column leaves the cursor on it, and erasing to the end of the line then
 * takes that character.
 */
#pragma once

#include "cli/cli.h"

#define TERMINAL_COLUMNS     80
#define TERMINAL_ROWS        24
#define TERMINAL_MAX_COLUMNS 220
#define TERMINAL_MAX_ROWS    60

typedef struct
{
  pid_t pid; /* 0: it has ended */
  int fd;
  int rows;
  int columns;
  gunichar cells[TERMINAL_MAX_ROWS][TERMINAL_MAX_COLUMNS];
  int row;
  int column; /* columns: behind the last character, still on it */
  gboolean is_alternate;
  gboolean has_colours;
  int n_scrolled;      /* rows that have left at the top */
  GByteArray *pending; /* the beginning of a character or sequence */
} Terminal;

/* The first word is a path. It is the leader of a session of its own and dies with the test. */
#define terminal_start(...) terminal_start_sized (TERMINAL_COLUMNS, TERMINAL_ROWS, __VA_ARGS__)
#define terminal_start_sized(columns, rows, ...)                                                   \
  terminal_start_words ((columns), (rows), CLI_WORDS (__VA_ARGS__))
Terminal *terminal_start_words (int columns, int rows, const char *const *words, gsize n);
/* As a user who drags the corner of the window: the program gets SIGWINCH. */
void terminal_resize (Terminal *terminal, int columns, int rows);
/* Kills what still runs. */
void terminal_free (Terminal *terminal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Terminal, terminal_free)

/* As if typed. */
void terminal_type (Terminal *terminal, const char *keys);
/* Takes what is written, for so long. */
void terminal_look (Terminal *terminal, int ms);
/* Takes what is written, until the screen has that text, or until it does not. */
void terminal_shows (Terminal *terminal, const char *text);
void terminal_hides (Terminal *terminal, const char *text);
/* Whether it has it within that time. */
gboolean terminal_wait_text (Terminal *terminal, const char *text, int timeout_ms);
/* The same, until the row of the cursor ends with a prompt of a shell. */
void terminal_prompts (Terminal *terminal);
/* It ends with that code, and has left the alternate screen. */
void terminal_ends (Terminal *terminal, int exit_code);
/* A row without the spaces at its end. */
char *terminal_get_row (Terminal *terminal, int row);
/* That row begins and ends so. */
void terminal_has_row (Terminal *terminal, int row, const char *start, const char *end);
/* All rows, for people. */
char *terminal_get_picture (Terminal *terminal);
