/* The nodes of one session in one queue: neighbours and shared listings.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex.
 *
 * NOTES: two consecutive numbers are neighbours only within one life of the parent, whose counter
 * restarts when it is recreated. It cannot be deleted while the node ahead exists, and that one
 * existed when the next one's create was sent.
 */
#include "lock/local_queue.h"

#include "base/container.h"
#include "base/guards.h"
#include "core/monitor.h"
#include "session/lease_clock.h"
#include "session/request.h"
#include "session/session.h"

#include <string.h>

/* How long a path counts as contended. */
#define CONTENDED_US G_USEC_PER_SEC

/* Of the paths on which a session was behind another contender, the last ones by their hashes. */
#define N_CONTENDED 64

typedef struct
{
  guint hash;
  gint64 seen_us; /* monotonic; 0: unused */
} Contended;

/* Of one session. */
typedef struct
{
  GHashTable *by_path CURATOR_GUARDED; /* full path -> CuratorLocalQueue */
  GQueue idle CURATOR_GUARDED;         /* those that nobody uses, the oldest first */
  Contended contended[N_CONTENDED] CURATOR_GUARDED;
} LocalQueues;

struct _CuratorLocalQueue
{
  CuratorSession *session; /* no reference: its users have one */
  guint users CURATOR_GUARDED;
  guint64 n_creates CURATOR_GUARDED;
  /* The session's last node in this queue. When it leaves, the session's node directly in front of it,
   * or NULL. */
  CuratorQueueSlot *last CURATOR_GUARDED;
  CuratorListing *listing CURATOR_GUARDED; /* the latest, if it is in flight */
  CuratorKnownNode *known CURATOR_GUARDED; /* by the newest list; or NULL */
  CuratorKnownNode *farther
      CURATOR_GUARDED; /* one place further back, if that is another node; or NULL */
  CuratorReturnGuess guess
      CURATOR_GUARDED; /* of the newest list, and of the time when the last user left */
  /* While nobody uses it, which is only while it has a known node. */
  CuratorSessionHook hook CURATOR_GUARDED;
  GList link; /* in LocalQueues.idle */
  char base[];
};

struct _CuratorListing
{
  CuratorLocalQueue *local;
  CuratorRequest *request CURATOR_GUARDED;
  guint64 n_creates CURATOR_GUARDED; /* of the queue when it was sent */
  GQueue users CURATOR_GUARDED;      /* CuratorListingUser */
};

void
curator_known_node_free (CuratorKnownNode *known)
{
  g_free (known->kind);
  g_free (known->leaf);
  g_free (known);
}

static CURATOR_LOCKED void
forget_known (CuratorLocalQueue *local)
{
  g_clear_pointer (&local->known, curator_known_node_free);
  g_clear_pointer (&local->farther, curator_known_node_free);
}

static void
clear_queues (gpointer data)
{
  LocalQueues *queues = data;
  curator_not_shared ();
  g_clear_pointer (&queues->by_path, g_hash_table_unref);
}

static CURATOR_LOCKED LocalQueues *
queues_of (CuratorSession *session)
{
  static const CuratorAttachmentType type = { sizeof (LocalQueues), clear_queues };
  LocalQueues *queues = curator_attached (&session->attached, &type);

  if (queues->by_path == NULL)
    queues->by_path = g_hash_table_new (g_str_hash, g_str_equal);
  return queues;
}

static CURATOR_LOCKED void
local_queue_free (CuratorLocalQueue *local)
{
  g_hash_table_remove (queues_of (local->session)->by_path, local->base);
  forget_known (local);
  g_free (local);
}

static CURATOR_LOCKED void
end_idleness (CuratorLocalQueue *local)
{
  g_queue_unlink (&queues_of (local->session)->idle, &local->link);
  curator_session_remove_hook (&local->hook);
}

static CURATOR_LOCKED void
on_session_died (CuratorSessionHook *hook)
{
  CuratorLocalQueue *local = CURATOR_CONTAINER (hook, CuratorLocalQueue, hook);
  end_idleness (local);
  local_queue_free (local);
}

/* Others that are too old are freed on this occasion. */
static CURATOR_LOCKED void
keep_for_return (CuratorLocalQueue *local)
{
  CuratorSession *session = local->session;
  GQueue *idle = &queues_of (session)->idle;
  CuratorLocalQueue *oldest;

  const gint64 now = curator_client_boottime_us (session->client);
  local->guess.left_us = now;
  local->link = (GList){ .data = local };
  local->hook.died = on_session_died;
  g_queue_push_tail_link (idle, &local->link);
  curator_session_add_hook (session, &local->hook);
  while ((oldest = g_queue_peek_head (idle))->guess.left_us + CURATOR_RETURN_US < now)
    {
      end_idleness (oldest);
      local_queue_free (oldest);
    }
}

CuratorLocalQueue *
curator_local_queue_join (CuratorSession *session, const char *base)
{
  GHashTable *queues = queues_of (session)->by_path;
  CuratorLocalQueue *local = g_hash_table_lookup (queues, base);

  if (local == NULL)
    {
      const gsize base_size = strlen (base) + 1;
      local = g_malloc0 (sizeof *local + base_size);
      local->session = session;
      memcpy (local->base, base, base_size);
      g_hash_table_insert (queues, local->base, local);
    }
  else if (local->users == 0)
    {
      end_idleness (local);
    }
  local->users++;
  return local;
}

void
curator_local_queue_leave (CuratorLocalQueue *local)
{
  if (--local->users > 0)
    return;
  g_assert (local->last == NULL && local->listing == NULL);
  if (local->known != NULL && curator_session_is_current (local->session))
    {
      keep_for_return (local);
      return;
    }
  local_queue_free (local);
}

/* Replaces a known node by the one that is probably so many places ahead of our next one. If those in front of our
 * node come back, too, they do so before us: as many numbers as there were of them come between the last
 * node and our next one. */
static CURATOR_LOCKED void
set_known (CuratorKnownNode **known, const char *kind, const CuratorQueue *queue, gsize index,
           gsize places)
{
  const gsize n_behind = queue->n_names - index - 1;
  const gsize too_near = index + 1 < places ? places - index - 1 : 0;
  const gsize chosen = queue->n_names - 1 - MIN (too_near, n_behind - 1);

  if (*known != NULL && g_str_equal ((*known)->leaf, queue->names[chosen])
      && g_str_equal ((*known)->kind, kind))
    {
      return;
    }
  g_clear_pointer (known, curator_known_node_free);
  *known = g_new (CuratorKnownNode, 1);
  **known = (CuratorKnownNode){ .kind = g_strdup (kind),
                                .leaf = g_strdup (queue->names[chosen]),
                                .number = queue->numbers[chosen] };
}

void
curator_local_queue_note_known (CuratorLocalQueue *local, const char *kind,
                                const CuratorQueue *queue, const char *own)
{
  const gssize index = curator_queue_index_of (queue, own);
  const gsize n_behind = index >= 0 ? queue->n_names - (gsize) index - 1 : 0;

  if (n_behind < local->session->client->settings.long_queue || queue->n_foreign > 0
      || queue->irregular)
    {
      forget_known (local);
      return;
    }
  local->guess.n_in_front = (guint) index;
  local->guess.n_behind = (guint) n_behind;
  set_known (&local->known, kind, queue, (gsize) index, CURATOR_RETURN_PLACES);
  if (index < CURATOR_RETURN_PLACES)
    set_known (&local->farther, kind, queue, (gsize) index, CURATOR_RETURN_PLACES + 1);
  else
    g_clear_pointer (&local->farther, curator_known_node_free);
}

CuratorKnownNode *
curator_local_queue_take_known (CuratorLocalQueue *local, const char *kind)
{
  CuratorClient *client = local->session->client;
  CuratorReturnGuess *guess = &local->guess;

  if (local->known == NULL || guess->left_us == 0 || !curator_local_queue_is_alone (local)
      || !g_str_equal (local->known->kind, kind)
      || !curator_return_guess_is_likely (guess, curator_client_boottime_us (client)))
    {
      return NULL;
    }
  guess->least_reply_us = local->session->least_answer_us;
  const gboolean is_farther = local->farther != NULL && curator_return_guess_is_farther (guess);
  CuratorKnownNode **chosen = is_farther ? &local->farther : &local->known;
  CuratorKnownNode *known = g_steal_pointer (chosen);
  known->guess = *guess;
  forget_known (local);
  return known;
}

gboolean
curator_local_queue_is_alone (const CuratorLocalQueue *local)
{
  return local->users == 1;
}

gboolean
curator_local_queue_is_occupied (CuratorSession *session, const char *base, const char *kind)
{
  const CuratorLocalQueue *local = g_hash_table_lookup (queues_of (session)->by_path, base);
  return local != NULL && local->last != NULL && g_str_equal (local->last->kind, kind)
         && curator_session_is_current (session) && curator_lease_clock_remaining_ms (session) > 0;
}

static CURATOR_LOCKED Contended *
contended_slot (CuratorSession *session, guint hash)
{
  return &queues_of (session)->contended[hash % N_CONTENDED];
}

void
curator_local_queue_note_contender (CuratorLocalQueue *local)
{
  const guint hash = g_str_hash (local->base);
  *contended_slot (local->session, hash) =
      (Contended){ .hash = hash, .seen_us = curator_client_now_us (local->session->client) };
}

gboolean
curator_local_queue_is_contended (CuratorSession *session, const char *base)
{
  const guint hash = g_str_hash (base);
  const Contended *slot = contended_slot (session, hash);

  return g_hash_table_contains (queues_of (session)->by_path, base)
         || (slot->hash == hash && slot->seen_us != 0
             && curator_client_now_us (session->client) - slot->seen_us < CONTENDED_US);
}

gboolean
curator_local_queue_is_listing (const CuratorLocalQueue *local)
{
  return local->listing != NULL;
}

guint64
curator_local_queue_note_create (CuratorLocalQueue *local)
{
  return ++local->n_creates;
}

void
curator_queue_slot_take (CuratorQueueSlot *slot, CuratorLocalQueue *local, const char *kind,
                         gint64 number)
{
  CuratorQueueSlot *last = local->last;

  /* A node that was found after an unknown outcome may be in front of later ones. */
  if (last != NULL && last->number >= number)
    return;
  slot->local = local;
  slot->kind = kind;
  slot->number = number;
  local->users++;
  local->last = slot;
  if (last != NULL && last->number + 1 == number && g_str_equal (last->kind, kind))
    {
      slot->ahead = last;
      last->behind = slot;
    }
}

void
curator_queue_slot_move (CuratorQueueSlot *from, CuratorQueueSlot *to)
{
  if (from->local == NULL)
    return;
  g_assert (from->ahead == NULL);
  *to = *from;
  to->is_held = TRUE;
  if (to->behind != NULL)
    {
      to->behind->ahead = to;
      to->behind->klass->ahead_held (to->behind);
    }
  if (to->local->last == from)
    to->local->last = to;
  *from = (CuratorQueueSlot){ .klass = from->klass };
}

void
curator_queue_slot_leave (CuratorQueueSlot *slot, gboolean released, const char *leaf)
{
  CuratorLocalQueue *local = slot->local;
  CuratorQueueSlot *ahead = slot->ahead;
  CuratorQueueSlot *behind = slot->behind;

  if (local == NULL)
    return;
  released = released && !slot->number_is_shared;
  *slot = (CuratorQueueSlot){ .klass = slot->klass };
  if (local->last == slot)
    local->last = ahead;
  if (ahead != NULL)
    ahead->behind = behind;
  if (behind != NULL)
    behind->ahead = ahead;
  /* No node can come between the neighbours of one that leaves the middle. */
  if (behind != NULL && ahead == NULL && curator_session_is_current (local->session))
    behind->klass->ahead_left (behind, released, leaf);
  curator_local_queue_leave (local);
}

CuratorQueue *
curator_sorted_list_get (CuratorSortedList *list, const struct String_vector *children,
                         CuratorLockInternals *internals)
{
  const CuratorLockInternals *before = list->sorted_for;

  if (before == NULL
      || before->driver->funcs.fix_for_sorting != internals->driver->funcs.fix_for_sorting
      || !g_str_equal (before->lock_name, internals->lock_name))
    {
      curator_queue_clear (&list->queue);
      curator_queue_init (&list->queue, (const char *const *) children->data,
                          (gsize) children->count, curator_lock_internals_key, internals);
      list->sorted_for = internals;
    }
  return &list->queue;
}

static CURATOR_LOCKED CuratorListingUser *
next_user (CuratorListing *listing)
{
  GList *link = g_queue_pop_head_link (&listing->users);
  if (link == NULL)
    return NULL;
  CuratorListingUser *user = link->data;
  user->listing = NULL;
  return user;
}

static CURATOR_LOCKED void
forget_listing (CuratorListing *listing)
{
  if (listing->local->listing == listing)
    listing->local->listing = NULL;
}

static CURATOR_LOCKED void
on_listed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorListing *listing = data;
  CuratorSortedList list = { 0 };
  CuratorListingUser *user;

  listing->request = NULL;
  if (rc == ZOK)
    {
      CuratorLocalQueue *local = listing->local;
      local->guess.listed_us = sent_us;
      local->guess.reply_us = local->session->quiet_since_us - sent_us;
    }
  forget_listing (listing);
  while ((user = next_user (listing)) != NULL)
    user->listed (rc, reply, &list, user->data);
  curator_queue_clear (&list.queue);
  g_free (listing);
}

void
curator_listing_join (CuratorListingUser *user, CuratorLocalQueue *local, guint64 create)
{
  CuratorListing *listing = local->listing;

  if (listing == NULL || listing->n_creates < create)
    {
      listing = g_new0 (CuratorListing, 1);
      listing->local = local;
      listing->n_creates = local->n_creates;
      local->listing = listing;
      listing->request =
          curator_request_get_children (local->session, local->base, FALSE, on_listed, listing);
    }
  user->listing = listing;
  user->link = (GList){ .data = user };
  g_queue_push_tail_link (&listing->users, &user->link);
}

void
curator_listing_leave (CuratorListingUser *user)
{
  CuratorListing *listing = user->listing;

  if (listing == NULL)
    return;
  user->listing = NULL;
  g_queue_unlink (&listing->users, &user->link);
  /* While the answer is handed out, the request is NULL and the listing is in use. */
  if (listing->request != NULL && listing->users.length == 0)
    {
      curator_request_forget (listing->request);
      forget_listing (listing);
      g_free (listing);
    }
}
