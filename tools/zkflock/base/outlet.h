/* What leaves zkflock, in words: to standard error, syslog, --status-fd, the service manager. A
 * full pipe, a stopped terminal, a hung disk or a full socket holds up nothing but the words. */
#pragma once

#include <glib.h>

typedef struct _Outlet Outlet;

struct _Outlet
{
  /* May take for ever; 0 or an errno. */
  int (*write) (const char *words);
  /* What says that so many messages were dropped; NULL: it is not said. */
  char *(*tell_dropped) (guint n);

  /* Of outlet.c. */
  Outlet *next;
  gboolean has_thread;
  gboolean is_writing;
  GQueue words;
  gsize bytes; /* of these, and of what is being written */
  guint n_dropped;
  int error;
};

/* Before outlets_start (). The outlet is static. */
void outlet_open (Outlet *outlet);
/* From now on each of them has a thread. FALSE with errno. */
gboolean outlets_start (void);
/* Takes the words. Without threads it writes. With them it waits for a moment at most, so that words
 * come before what they announce, unless older ones are stuck. What does not fit is dropped and
 * counted. Any thread. */
void outlet_send (Outlet *outlet, char *words);
/* An errno if something could not be written, EAGAIN if something has not left yet, or 0. */
int outlet_get_error (Outlet *outlet);
/* Gives the last words half a second in all, however often it is called. */
void outlets_finish (void);
/* All of it, however long that takes; 0 or an errno. */
int write_words (int fd, const char *words);
