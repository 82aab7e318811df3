/* The C side of an election: candidates of this library's, on command. LeaderPeer.java has the
 * commands and the lines that are printed for them.
 *
 * A candidate leads until it has printed that it does not: the function of a selector before it
 * returns, a latch in its listener or before it is closed.
 *
 * usage: leader_worker CONNECT PATH selector|latch SESSION-MS */
#include "support/waiting.h"

#include <curator/curator.h>
#include <gio/gio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  char *id;
  CuratorLeaderSelector *selector; /* one of both is NULL */
  CuratorLeaderLatch *latch;
  pthread_mutex_t mutex; /* guards the rest */
  gboolean leads;
  gboolean closed;
} Candidate;

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static void G_GNUC_PRINTF (1, 2) tell (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  pthread_mutex_lock (&output);
  vprintf (format, arguments);
  putchar ('\n');
  fflush (stdout);
  pthread_mutex_unlock (&output);
  va_end (arguments);
}

static void
tell_event (const char *what, const char *id)
{
  tell ("%s %s %" G_GINT64_FORMAT, what, id, wait_now_ns ());
}

static void
lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
      gpointer user_data)
{
  Candidate *candidate = user_data;
  GPollFD wait;
  tell_event ("LEADS", candidate->id);
  if (g_cancellable_make_pollfd (cancellable, &wait)) {
    g_poll (&wait, 1, -1);
    g_cancellable_release_fd (cancellable);
  }
  tell_event ("ENDS", candidate->id);
}

static void
on_change (CuratorLeaderLatch *latch, gboolean is_leader, gpointer user_data)
{
  Candidate *candidate = user_data;
  pthread_mutex_lock (&candidate->mutex);
  if (!candidate->closed) {
    candidate->leads = is_leader;
    tell_event (is_leader ? "LEADS" : "ENDS", candidate->id);
  }
  pthread_mutex_unlock (&candidate->mutex);
}

static void
candidate_free (gpointer data)
{
  Candidate *candidate = data;
  pthread_mutex_destroy (&candidate->mutex);
  g_free (candidate->id);
  g_free (candidate);
}

static Candidate *
candidate_new (CuratorClient *client, const char *path, gboolean is_latch, const char *id)
{
  Candidate *candidate = g_new0 (Candidate, 1);
  pthread_mutex_init (&candidate->mutex, NULL);
  candidate->id = g_strdup (id);
  if (is_latch) {
    candidate->latch = curator_leader_latch_new (client, path, id, NULL);
    curator_leader_latch_add_listener (candidate->latch, on_change, candidate, candidate_free);
    return candidate;
  }
  candidate->selector =
      curator_leader_selector_new (client, path, lead, candidate, candidate_free, NULL);
  curator_leader_selector_set_id (candidate->selector, id);
  curator_leader_selector_set_auto_requeue (candidate->selector, TRUE);
  return candidate;
}

/* Frees it sooner or later. */
static void
candidate_stop (Candidate *candidate)
{
  if (candidate->latch == NULL) {
    curator_leader_selector_unref (candidate->selector);
    return;
  }
  pthread_mutex_lock (&candidate->mutex);
  candidate->closed = TRUE;
  if (candidate->leads)
    tell_event ("ENDS", candidate->id);
  pthread_mutex_unlock (&candidate->mutex);
  curator_leader_latch_unref (candidate->latch);
}

static void
list (Candidate *reader)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) participants =
      reader->latch != NULL
          ? curator_leader_latch_get_participants (reader->latch, CURATOR_WAIT_DEFAULT, NULL,
                                                   &error)
          : curator_leader_selector_get_participants (reader->selector, CURATOR_WAIT_DEFAULT, NULL,
                                                      &error);
  g_autoptr (CuratorLeaderParticipant) leader =
      participants == NULL ? NULL
      : reader->latch != NULL
          ? curator_leader_latch_get_leader (reader->latch, CURATOR_WAIT_DEFAULT, NULL, &error)
          : curator_leader_selector_get_leader (reader->selector, CURATOR_WAIT_DEFAULT, NULL,
                                                &error);
  if (error != NULL) {
    tell ("ERROR %s", error->message);
    return;
  }
  g_autoptr (GString) ids = g_string_new (NULL);
  for (guint i = 0; i < participants->len; i++)
    g_string_append_printf (
        ids, "%s%s", i > 0 ? "," : "",
        curator_leader_participant_get_id (g_ptr_array_index (participants, i)));
  tell ("PARTICIPANTS %s", ids->str);
  /* Java gives a participant with this id instead. */
  tell ("LEADER %s", leader != NULL ? curator_leader_participant_get_id (leader) : "");
}

static void
obey (CuratorClient *client, const char *path, gboolean is_latch)
{
  g_autoptr (GHashTable) candidates = g_hash_table_new (g_str_hash, g_str_equal);
  Candidate *reader = candidate_new (client, path, is_latch, "reader");
  char line[100];
  while (fgets (line, sizeof line, stdin) != NULL) {
    g_auto (GStrv) words = g_strsplit (g_strchomp (line), " ", 2);
    if (g_str_equal (words[0], "start")) {
      Candidate *candidate = candidate_new (client, path, is_latch, words[1]);
      g_hash_table_insert (candidates, candidate->id, candidate);
      G_GNUC_UNUSED const gboolean started =
          is_latch ? curator_leader_latch_start (candidate->latch, NULL)
                   : curator_leader_selector_start (candidate->selector, NULL);
      tell ("STARTED %s", words[1]);
    } else if (g_str_equal (words[0], "stop")) {
      Candidate *candidate = g_hash_table_lookup (candidates, words[1]);
      g_hash_table_remove (candidates, words[1]);
      candidate_stop (candidate);
      tell ("CLOSED %s", words[1]);
    } else {
      list (reader);
    }
  }
  candidate_stop (reader);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (argc != 5)
    return 64;
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_exponential_backoff (100, 10);
  g_autoptr (CuratorClient) client = curator_client_new (argv[1], policy);
  curator_client_set_session_timeout (client, atoi (argv[4]));
  curator_client_set_connection_timeout (client, atoi (argv[4]));
  if (!curator_client_start (client, &error)
      || !curator_client_block_until_connected (client, 30000, NULL, &error)) {
    tell ("ERROR %s", error->message);
    return 1;
  }
  tell ("READY");
  obey (client, argv[2], strcmp (argv[3], "latch") == 0);
  curator_client_close (client);
  return 0;
}
