/* A crowd of readers behind some writers, all in sessions of their own. */
#include "peer.h"

#include <pthread.h>

typedef struct
{
  pthread_t thread;
  Recipe recipe;
} Party;

static void *
take_part (void *data)
{
  Party *me = data;
  recipe_acquire (&me->recipe);
  recipe_release (&me->recipe);
  return NULL;
}

static void
party_start (Party *me, const char *recipe, CuratorClient *client, const char *path)
{
  recipe_init (&me->recipe, recipe, client, path, TRUE);
  pthread_create (&me->thread, NULL, take_part, me);
}

/* readers server= observe= path= readers= writers=: ready; ok ns= (until all have had the lock) */
void
verb_readers (const Request *request)
{
  const char *path = request_text (request, "path");
  const int n_writers = (int) request_number (request, "writers");
  const int n_readers = (int) request_number (request, "readers");
  const int n = n_writers + n_readers;
  g_autofree Party *parties = g_new0 (Party, n);
  Recipe holder;
  recipe_init (&holder, "write", peer_session (request, "server", 0), path, TRUE);
  recipe_acquire (&holder);
  for (int i = 0; i < n; i++)
    {
      CuratorClient *client = peer_session (request, "server", 1 + i);
      party_start (&parties[i], i < n_writers ? "write" : "read", client, path);
      if (i == n_writers - 1)
        {
          peer_await_queue (request, "write", 1 + n_writers);
        }
    }
  peer_await_queue (request, "read", n_readers);
  peer_ready_steady ("n=%d", n);
  const gint64 began = peer_now_ns ();
  recipe_release (&holder);
  for (int i = 0; i < n; i++)
    {
      pthread_join (parties[i].thread, NULL);
      recipe_clear (&parties[i].recipe);
    }
  peer_reply ("ops=%d ns=%" G_GINT64_FORMAT, n, peer_now_ns () - began);
  recipe_clear (&holder);
}
