#include "four_letter.h"

#include "net.h"
#include "waiting.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ASK_TIMEOUT_MS 20000

static gboolean
read_some (int fd, GString *answer, int timeout_ms, gboolean *ended)
{
  struct pollfd pfd = { .fd = fd, .events = POLLIN };
  char buffer[8192];
  if (poll (&pfd, 1, timeout_ms) != 1)
    return FALSE;
  gssize n = recv (fd, buffer, sizeof buffer, 0);
  if (n > 0)
    g_string_append_len (answer, buffer, n);
  *ended = n <= 0;
  return n >= 0;
}

char *
four_letter (const char *address, const char *word, int timeout_ms)
{
  gint64 deadline = wait_now_ms () + timeout_ms;
  int fd = net_connect (address, timeout_ms);
  if (fd < 0)
    return NULL;
  GString *answer = g_string_new (NULL);
  gboolean ended = FALSE;
  gboolean fine = send (fd, word, 4, MSG_NOSIGNAL) == 4;
  while (fine && !ended) {
    gint64 left = deadline - wait_now_ms ();
    fine = left > 0 && read_some (fd, answer, (int) left, &ended);
  }
  close (fd);
  return g_string_free (answer, !fine);
}

/* wchp and wchc have one format: a key at the start of a line, its members below, behind a tab. */
typedef void (*TreeVisitor) (const char *key, const char *member, gpointer data);

static gboolean
visit_tree (const char *address, const char *word, TreeVisitor visitor, gpointer data)
{
  g_autofree char *answer = four_letter (address, word, ASK_TIMEOUT_MS);
  if (answer == NULL)
    return FALSE;
  g_auto (GStrv) lines = g_strsplit (answer, "\n", -1);
  const char *key = NULL;
  for (char **line = lines; *line != NULL; line++)
    if (**line == '\t' && key != NULL)
      visitor (key, *line + 1, data);
    else if (**line != '\0')
      key = *line;
  return TRUE;
}

static void
count_path (const char *key, const char *member, gpointer data)
{
  (void) member;
  int n = GPOINTER_TO_INT (g_hash_table_lookup (data, key));
  g_hash_table_replace (data, g_strdup (key), GINT_TO_POINTER (n + 1));
}

GHashTable *
four_letter_watched_paths (const char *address)
{
  GHashTable *paths = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (!visit_tree (address, "wchp", count_path, paths))
    g_clear_pointer (&paths, g_hash_table_unref);
  return paths;
}

int
four_letter_watchers_of (const char *address, const char *path)
{
  g_autoptr (GHashTable) paths = four_letter_watched_paths (address);
  return paths == NULL ? -1 : GPOINTER_TO_INT (g_hash_table_lookup (paths, path));
}

int
four_letter_watches_below (const char *address, const char *path)
{
  g_autoptr (GHashTable) paths = four_letter_watched_paths (address);
  g_autofree char *prefix = g_strconcat (path, "/", NULL);
  GHashTableIter iter;
  gpointer key, value;
  int sum = 0;
  if (paths == NULL)
    return -1;
  g_hash_table_iter_init (&iter, paths);
  while (g_hash_table_iter_next (&iter, &key, &value))
    sum += g_str_has_prefix (key, prefix) ? GPOINTER_TO_INT (value) : 0;
  return sum;
}

int
four_letter_total_watches (const char *address)
{
  return (int) four_letter_monitor (address, "zk_watch_count");
}

typedef struct
{
  gint64 session;
  GPtrArray *paths;
} SessionPaths;

static gint64
parse_session (const char *text)
{
  return (gint64) g_ascii_strtoull (text, NULL, 16);
}

static void
collect_path (const char *key, const char *member, gpointer data)
{
  SessionPaths *wanted = data;
  if (parse_session (key) == wanted->session)
    g_ptr_array_add (wanted->paths, g_strdup (member));
}

char **
four_letter_paths_of_session (const char *address, gint64 session)
{
  SessionPaths wanted = { session, g_ptr_array_new () };
  gboolean answered = visit_tree (address, "wchc", collect_path, &wanted);
  g_ptr_array_add (wanted.paths, NULL);
  char **paths = (char **) g_ptr_array_free (wanted.paths, FALSE);
  if (!answered)
    g_clear_pointer (&paths, g_strfreev);
  return paths;
}

int
four_letter_watches_of_session (const char *address, gint64 session)
{
  g_auto (GStrv) paths = four_letter_paths_of_session (address, session);
  return paths != NULL ? (int) g_strv_length (paths) : -1;
}

static gint64
field_of (const char *line, const char *name)
{
  const char *at = strstr (line, name);
  return at != NULL ? g_ascii_strtoll (at + strlen (name), NULL, 10) : -1;
}

gboolean
four_letter_packets (const char *address, gint64 session, FourLetterPackets *packets)
{
  g_autofree char *answer = four_letter (address, "cons", ASK_TIMEOUT_MS);
  g_auto (GStrv) lines = g_strsplit (answer != NULL ? answer : "", "\n", -1);
  for (char **line = lines; *line != NULL; line++) {
    const char *sid = strstr (*line, "sid=0x");
    if (sid != NULL && parse_session (sid + strlen ("sid=")) == session) {
      packets->received = field_of (*line, "recved=");
      packets->sent = field_of (*line, "sent=");
      return TRUE;
    }
  }
  return FALSE;
}

int
four_letter_session_alive (const char *address, gint64 session)
{
  g_autofree char *answer = four_letter (address, "dump", ASK_TIMEOUT_MS);
  if (answer == NULL)
    return -1;
  /* The first part lists every session; the second one only those that own ephemerals. */
  char *second = strstr (answer, "ephemeral nodes dump");
  if (second != NULL)
    *second = '\0';
  g_autofree char *wanted = g_strdup_printf ("\t0x%" G_GINT64_MODIFIER "x", session);
  const char *at = strstr (answer, wanted);
  return at != NULL && !g_ascii_isxdigit (at[strlen (wanted)]);
}

char **
four_letter_ephemerals (const char *address, gint64 session)
{
  g_autofree char *answer = four_letter (address, "dump", ASK_TIMEOUT_MS);
  const char *second = answer != NULL ? strstr (answer, "ephemeral nodes dump") : NULL;
  if (second == NULL)
    return NULL;
  GPtrArray *nodes = g_ptr_array_new ();
  g_auto (GStrv) lines = g_strsplit (second, "\n", -1);
  gboolean ours = FALSE;
  for (char **line = lines; *line != NULL && !g_str_has_prefix (*line, "Connections"); line++)
    if (g_str_has_prefix (*line, "0x"))
      ours = parse_session (*line) == session;
    else if (ours && **line == '\t')
      g_ptr_array_add (nodes, g_strdup (*line + 1));
  g_ptr_array_add (nodes, NULL);
  return (char **) g_ptr_array_free (nodes, FALSE);
}

gint64
four_letter_monitor (const char *address, const char *key)
{
  g_autofree char *answer = four_letter (address, "mntr", ASK_TIMEOUT_MS);
  g_auto (GStrv) lines = g_strsplit (answer != NULL ? answer : "", "\n", -1);
  gsize length = strlen (key);
  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix (*line, key) && (*line)[length] == '\t')
      return g_ascii_strtoll (*line + length + 1, NULL, 10);
  return -1;
}

gint64
four_letter_zxid (const char *address)
{
  g_autofree char *answer = four_letter (address, "srvr", ASK_TIMEOUT_MS);
  const char *found = answer != NULL ? strstr (answer, "Zxid: 0x") : NULL;
  return found != NULL ? (gint64) g_ascii_strtoull (found + strlen ("Zxid: 0x"), NULL, 16) : -1;
}
