/* A line of contenders, each in a session of its own, all of which queue before the first is
 * granted, so that the number of requests does not depend on timing.
 */
#include "peer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  pthread_t thread;
  Recipe recipe;
  GAsyncQueue *granted; /* receives each grant; NULL: not wanted */
  GAsyncQueue *let_go;  /* an item lets one of them release */
} Party;

typedef struct
{
  char *recipe;
  int n;
} Group;

static void *
take_part (void *data)
{
  Party *me = data;
  recipe_acquire (&me->recipe);
  if (me->granted != NULL) {
    g_async_queue_push (me->granted, me);
    g_async_queue_pop (me->let_go);
  }
  recipe_release (&me->recipe);
  return NULL;
}

/* "write:8" */
static Group
group_parse (const char *text)
{
  const char *colon = strchr (text, ':');
  if (colon == NULL)
    peer_die (text, NULL);
  return (Group){ g_strndup (text, (gsize) (colon - text)), atoi (colon + 1) };
}

/* With "in_turn" each one queues before the next one starts; else all start at once. Waits until
 * all queue. */
static void
queue_group (const Request *request, const Group *group, Party *parties, int first, int in_front)
{
  for (int i = 0; i < group->n; i++) {
    Party *party = &parties[i];
    recipe_init (&party->recipe, group->recipe, peer_session (request, "server", first + i),
                 request_text (request, "path"), request_flag (request, "async"));
    pthread_create (&party->thread, NULL, take_part, party);
    if (request_flag (request, "in_turn"))
      peer_await_queue (request, group->recipe, in_front + i + 1);
  }
  peer_await_queue (request, group->recipe, in_front + group->n);
}

/* Between a grant and its release all requests of the others are answered. */
static void
one_at_a_time (Party *parties, int n)
{
  for (int i = 0; i < n; i++) {
    g_async_queue_pop (parties[0].granted);
    peer_ready_steady ("turn=%d", i);
    g_async_queue_push (parties[0].let_go, parties);
  }
}

/* line server= observe= path= first=RECIPE:N [then=RECIPE:N] [in_turn=1] [async=1] [stepwise=1]:
 * ready; with stepwise "ready" again after each grant, and "go" lets it release; ok ns= (until all
 * have had the lock). One more of the first recipe holds it until the first "go". */
void
verb_line (const Request *request)
{
  Group first = group_parse (request_text (request, "first"));
  Group then = request_flag (request, "then") ? group_parse (request_text (request, "then"))
                                              : (Group){ NULL, 0 };
  const int n = first.n + then.n;
  g_autofree Party *parties = g_new0 (Party, n);
  g_autoptr (GAsyncQueue) granted = g_async_queue_new ();
  g_autoptr (GAsyncQueue) let_go = g_async_queue_new ();
  Recipe holder;
  for (int i = 0; request_flag (request, "stepwise") && i < n; i++) {
    parties[i].granted = granted;
    parties[i].let_go = let_go;
  }
  recipe_init (&holder, first.recipe, peer_session (request, "server", 0),
               request_text (request, "path"), request_flag (request, "async"));
  recipe_acquire (&holder);
  queue_group (request, &first, parties, 1, 1);
  if (then.n > 0) {
    queue_group (request, &then, parties + first.n, 1 + first.n,
                 g_str_equal (first.recipe, then.recipe) ? 1 + first.n : 0);
  }
  peer_ready_steady ("n=%d", n);
  const gint64 began = peer_now_ns ();
  recipe_release (&holder);
  if (request_flag (request, "stepwise"))
    one_at_a_time (parties, n);
  for (int i = 0; i < n; i++) {
    pthread_join (parties[i].thread, NULL);
    recipe_clear (&parties[i].recipe);
  }
  peer_reply ("ops=%d ns=%" G_GINT64_FORMAT, n, peer_now_ns () - began);
  recipe_clear (&holder);
  g_free (first.recipe);
  g_free (then.recipe);
}
