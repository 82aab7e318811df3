/* top: a live display of the locks below some paths.
 *
 * A thread reads from the servers, so that the terminal responds at once even when they are slow.
 * The main thread draws and reads keys.
 */
#include "views/views.h"

#include "base/json.h"
#include "base/outcome.h"
#include "views/frame.h"
#include "views/servers.h"
#include "views/who.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ENTER_SCREEN "\x1b[?1049h\x1b[?25l\x1b[?7l" /* also hides the cursor; lines do not wrap */
#define STALE_MS     2000                           /* an answer may be this late */
#define ADDRESS_MS   5000 /* between two questions for the addresses of clients */
#define LEAVE_SCREEN "\x1b[?7h\x1b[?25h\x1b[?1049l"

typedef struct
{
  const Options *options;
  CuratorClient *client;
  gboolean is_live;
  gboolean in_colour;
  struct termios terminal;
  int pipe[2]; /* the reading thread writes a byte for each refresh */

  Screen screen;

  GMutex mutex;
  GCond cond;
  GPtrArray *locks;           /* guarded; the newest result */
  GHashTable *others;         /* guarded; of their paths, see frame.h */
  gint64 answered_us;         /* guarded; when locks was read */
  char *wanted;               /* guarded; path of the lock whose details are shown, or NULL */
  gboolean is_hurried;        /* guarded; the next look is due at once */
  CuratorInspection *details; /* guarded; of the wanted lock, or NULL */
  GHashTable *addresses;      /* guarded; gint64 session to char *, or NULL */
  GError *fatal;              /* guarded */
  gboolean stopped;           /* guarded */
} Top;

static volatile sig_atomic_t last_signal;

static void
on_signal (int signal)
{
  last_signal = signal;
}

/* Inspects the locks below all paths; a lock found twice is listed once. */
static GPtrArray *
inspect_all (Top *top, GPtrArray *previous, GError **error)
{
  g_autoptr (GPtrArray) all =
      g_ptr_array_new_with_free_func ((GDestroyNotify) curator_inspection_unref);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (char **path = top->options->paths; *path != NULL; path++) {
    g_autoptr (GPtrArray) found =
        curator_client_inspect_all (top->client, *path, previous, NULL, WALK_MS, NULL, error);
    if (found == NULL)
      return NULL;
    for (guint i = 0; i < found->len; i++) {
      CuratorInspection *lock = g_ptr_array_index (found, i);
      if (g_hash_table_add (seen, (gpointer) curator_inspection_get_path (lock)))
        g_ptr_array_add (all, curator_inspection_ref (lock));
    }
  }
  return g_steal_pointer (&all);
}

static void
publish (Top *top, GPtrArray *locks, GError *error)
{
  g_autoptr (GHashTable) others = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; locks != NULL && i < locks->len; i++) {
    const CuratorInspection *lock = g_ptr_array_index (locks, i);
    const guint kinds = who_find_other_kinds (top->client, lock);
    if (kinds != 0)
      g_hash_table_insert (others, g_strdup (curator_inspection_get_path (lock)),
                           GUINT_TO_POINTER (kinds));
  }
  g_mutex_lock (&top->mutex);
  if (locks != NULL) {
    top->answered_us = g_get_monotonic_time ();
    g_clear_pointer (&top->locks, g_ptr_array_unref);
    top->locks = g_ptr_array_ref (locks);
    g_clear_pointer (&top->others, g_hash_table_unref);
    top->others = g_steal_pointer (&others);
  }
  /* Without an answer, draw_text() shows how old the last one is. */
  else if (!is_no_answer (error)) {
    g_clear_error (&top->fatal);
    top->fatal = g_error_copy (error);
  }
  g_mutex_unlock (&top->mutex);
}

/* Reads one lock again: the payloads of its participants may have changed. */
static void
read_details (Top *top, const char *path, gint64 *asked_us)
{
  CuratorInspection *details =
      curator_client_inspect (top->client, path, CURATOR_WAIT_DEFAULT, NULL, NULL);
  GHashTable *addresses = NULL;

  if (g_get_monotonic_time () - *asked_us > ADDRESS_MS * 1000) {
    addresses = servers_ask_addresses (top->options);
    *asked_us = g_get_monotonic_time ();
  }
  g_mutex_lock (&top->mutex);
  if (details != NULL) {
    g_clear_pointer (&top->details, curator_inspection_unref);
    top->details = details;
  }
  if (addresses != NULL) {
    g_clear_pointer (&top->addresses, g_hash_table_unref);
    top->addresses = addresses;
  }
  g_mutex_unlock (&top->mutex);
}

/* One look at the servers. Returns the locks for the next one. */
static GPtrArray *
look (Top *top, GPtrArray *previous, const char *wanted, gint64 *asked_us)
{
  g_autoptr (GError) error = NULL;
  GPtrArray *locks = inspect_all (top, previous, &error);

  publish (top, locks, error);
  if (locks != NULL && wanted != NULL)
    read_details (top, wanted, asked_us);
  (void) !write (top->pipe[1], "", 1);
  if (locks == NULL)
    return previous;
  g_clear_pointer (&previous, g_ptr_array_unref);
  return locks;
}

static gpointer
read_locks (gpointer data)
{
  Top *top = data;
  GPtrArray *locks = NULL;
  gint64 asked_us = G_MININT64 / 2;

  g_mutex_lock (&top->mutex);
  while (!top->stopped) {
    g_autofree char *wanted = g_strdup (top->wanted);
    const gint64 next = g_get_monotonic_time () + top->options->top.interval_ms * 1000;
    top->is_hurried = FALSE;
    g_mutex_unlock (&top->mutex);
    locks = look (top, locks, wanted, &asked_us);
    g_mutex_lock (&top->mutex);
    while (!top->stopped && !top->is_hurried && g_get_monotonic_time () < next)
      g_cond_wait_until (&top->cond, &top->mutex, next);
  }
  g_mutex_unlock (&top->mutex);
  g_clear_pointer (&locks, g_ptr_array_unref);
  return NULL;
}

static void
enter_screen (Top *top)
{
  struct termios raw;

  if (!top->is_live)
    return;
  tcgetattr (STDIN_FILENO, &top->terminal);
  raw = top->terminal;
  raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
  tcsetattr (STDIN_FILENO, TCSANOW, &raw);
  fputs (ENTER_SCREEN, stdout);
}

static void
leave_screen (Top *top)
{
  if (top->is_live) {
    fputs (LEAVE_SCREEN, stdout);
    fflush (stdout);
    tcsetattr (STDIN_FILENO, TCSANOW, &top->terminal);
  }
}

/* Seconds since the last answer if one is overdue, else 0. */
static int
overdue_seconds (Top *top)
{
  const gint64 age_ms = (g_get_monotonic_time () - top->answered_us) / 1000;
  return age_ms > top->options->top.interval_ms + STALE_MS ? (int) (age_ms / 1000) : 0;
}

/* The rows and columns of the terminal. */
static void
measure (int *width, int *height)
{
  struct winsize size = { 0 };
  const gboolean known = ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;

  *width = known ? MAX (size.ws_col, 20) : 80;
  *height = known ? MAX (size.ws_row, 5) : 24;
}

/* The caller holds the mutex. */
static char *
draw_frame (Top *top, const FrameStyle *style)
{
  if (top->screen.mode == SCREEN_HELP)
    return frame_draw_help (style);
  const gboolean is_read =
      top->details != NULL
      && g_strcmp0 (curator_inspection_get_path (top->details), top->screen.selected) == 0;
  return top->screen.mode == SCREEN_DETAILS && is_read
             ? frame_draw_details (style, top->details, top->addresses, &top->screen)
             : frame_draw (style, top->locks, &top->screen);
}

/* Has the details read that the user wants to see. */
static void
want_details (Top *top)
{
  const char *wanted = top->screen.mode == SCREEN_DETAILS ? top->screen.selected : NULL;

  if (g_strcmp0 (wanted, top->wanted) != 0) {
    g_free (top->wanted);
    top->wanted = g_strdup (wanted);
    g_clear_pointer (&top->details, curator_inspection_unref);
    top->is_hurried = wanted != NULL;
    g_cond_signal (&top->cond);
  }
}

static void
draw_text (Top *top)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  g_autofree char *clock = g_date_time_format (now, "%H:%M:%S");
  FrameStyle style = { .in_colour = top->in_colour,
                       .is_live = top->is_live,
                       .others = top->others,
                       .hosts = top->options->hosts,
                       .clock = clock };
  const int overdue = overdue_seconds (top);
  g_autofree char *trouble = g_strdup_printf ("no answer for %d s", overdue);

  if (overdue > 0) {
    style.trouble = trouble;
    style.is_stale = TRUE;
  }
  if (top->is_live || isatty (STDOUT_FILENO))
    measure (&style.width, &style.height);
  /* An empty line follows, and the cursor's. */
  style.height -= !top->is_live && style.height > 0 ? 2 : 0;
  g_autofree char *frame = draw_frame (top, &style);
  printf (top->is_live ? "\x1b[H\x1b[K%s\x1b[J" : "%s\n", frame);
  want_details (top);
}

/* Returns FALSE when the reader of stdout has gone. */
static gboolean
draw (Top *top)
{
  g_mutex_lock (&top->mutex);
  if (top->locks != NULL && top->options->json) {
    g_autoptr (GString) out = g_string_new (NULL);
    json_begin (out, NULL, '[');
    for (guint i = 0; i < top->locks->len; i++) {
      const CuratorInspection *lock = g_ptr_array_index (top->locks, i);
      const char *path = curator_inspection_get_path (lock);
      who_append_json (out, lock, GPOINTER_TO_UINT (g_hash_table_lookup (top->others, path)));
    }
    json_end (out, ']');
    puts (out->str);
  } else if (top->locks != NULL) {
    draw_text (top);
  }
  g_mutex_unlock (&top->mutex);
  return fflush (stdout) == 0;
}

/* Stops on Ctrl-Z, with the terminal restored. */
static void
suspend (Top *top)
{
  leave_screen (top);
  signal (SIGTSTP, SIG_DFL);
  raise (SIGTSTP);
  signal (SIGTSTP, on_signal);
  enter_screen (top);
}

static gboolean
is_overdue (Top *top)
{
  g_mutex_lock (&top->mutex);
  const gboolean overdue = top->locks != NULL && overdue_seconds (top) > 0;
  g_mutex_unlock (&top->mutex);
  return overdue;
}

/* Returns the exit code, or -1 to continue. */
static int
react (Top *top, const struct pollfd *polls, int *refreshes)
{
  const int caught = last_signal;
  char keys[64] = "";
  char byte;
  int width, height;

  last_signal = 0;
  if (caught == SIGTSTP)
    suspend (top);
  else if (caught != 0 && caught != SIGWINCH)
    return EXIT_CODE_SIGNAL + caught;
  const gboolean pressed = top->is_live && (polls[1].revents & POLLIN) != 0;
  if (pressed && read (STDIN_FILENO, keys, sizeof keys - 1) > 0) {
    measure (&width, &height);
    if (screen_type (&top->screen, keys, (guint) MAX (height - 5, 1)))
      return 0;
  }
  if ((polls[0].revents & POLLIN) != 0 && read (top->pipe[0], &byte, 1) == 1)
    (*refreshes)++;
  else if ((caught == 0 && !pressed && !is_overdue (top)) || !top->is_live)
    return -1;
  if (top->fatal != NULL || !draw (top))
    return top->fatal != NULL ? exit_code_of (top->options, top->fatal) : 0;
  return top->options->top.iterations > 0 && *refreshes >= top->options->top.iterations ? 0 : -1;
}

static int
show (Top *top)
{
  static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };
  struct pollfd polls[] = { { .fd = top->pipe[0], .events = POLLIN },
                            { .fd = top->is_live ? STDIN_FILENO : -1, .events = POLLIN } };
  int refreshes = 0;
  int code = -1;

  for (gsize i = 0; top->is_live && i < G_N_ELEMENTS (handled); i++)
    signal (handled[i], on_signal);
  while (code < 0) {
    polls[0].revents = 0;
    polls[1].revents = 0;
    /* The timeout of 1 s bounds the delay of a signal that comes just before poll(). */
    poll (polls, G_N_ELEMENTS (polls), 1000);
    code = react (top, polls, &refreshes);
  }
  return code;
}

int
top_run (const Options *options, CuratorClient *client)
{
  Top top = { .options = options, .client = client };
  const char *terminal = g_getenv ("TERM");
  const char *no_colour = g_getenv ("NO_COLOR");

  if (pipe (top.pipe) != 0)
    return report_shortage (options->paths[0], "cannot make a pipe", errno);
  top.screen.filter = g_string_new (NULL);
  top.is_live = !options->json && isatty (STDOUT_FILENO) && isatty (STDIN_FILENO)
                && terminal != NULL && strcmp (terminal, "dumb") != 0;
  top.in_colour = top.is_live && (no_colour == NULL || *no_colour == '\0');
  g_mutex_init (&top.mutex);
  g_cond_init (&top.cond);
  GThread *thread = g_thread_try_new ("read", read_locks, &top, NULL);
  if (thread == NULL)
    return report_shortage (options->paths[0], "cannot start a thread", EAGAIN);
  enter_screen (&top);
  const int code = show (&top);
  leave_screen (&top);
  g_mutex_lock (&top.mutex);
  top.stopped = TRUE;
  g_cond_signal (&top.cond);
  g_mutex_unlock (&top.mutex);
  curator_client_close (top.client);
  g_thread_join (thread);
  if (top.fatal != NULL && code != 0)
    fail_with (options, top.fatal);
  g_clear_pointer (&top.locks, g_ptr_array_unref);
  g_clear_pointer (&top.others, g_hash_table_unref);
  g_clear_pointer (&top.details, curator_inspection_unref);
  g_clear_pointer (&top.addresses, g_hash_table_unref);
  g_free (top.wanted);
  screen_clear (&top.screen);
  g_clear_error (&top.fatal);
  return code;
}
