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
#include "nodes/reaper.h"
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
  GHashTable *by_path CURATOR_GUARDED;     /* full path -> CuratorLocalQueue */
  CuratorLocalQueue *idle CURATOR_GUARDED; /* was left last, and is often joined next; or NULL */
  Contended contended[N_CONTENDED] CURATOR_GUARDED;
} LocalQueues;

struct _CuratorLocalQueue
{
  CuratorSession *session; /* no reference: its users have one */
  guint users CURATOR_GUARDED;
  guint64 n_creates CURATOR_GUARDED;
  /* The session's last node in this queue. When it leaves, the session's node directly in front of
   * it, or NULL. */
  CuratorQueueSlot *last CURATOR_GUARDED;
  CuratorListing *listing CURATOR_GUARDED; /* the latest, if it is in flight */
  char base[];
};

struct _CuratorListing
{
  CuratorLocalQueue *local;
  CuratorRequest *request CURATOR_GUARDED;
  guint64 n_creates CURATOR_GUARDED; /* of the queue when it was sent */
  GQueue users CURATOR_GUARDED;      /* CuratorListingUser */
};

static void
clear_queues (gpointer data)
{
  LocalQueues *queues = data;
  curator_not_shared ();
  g_clear_pointer (&queues->by_path, g_hash_table_unref);
  g_free (queues->idle);
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

CuratorLocalQueue *
curator_local_queue_join (CuratorSession *session, const char *base)
{
  LocalQueues *queues = queues_of (session);
  CuratorLocalQueue *local = g_hash_table_lookup (queues->by_path, base);

  if (local == NULL) {
    const gsize base_size = strlen (base) + 1;
    local = g_malloc (sizeof *local + base_size);
    *local = (CuratorLocalQueue){ .session = session };
    memcpy (local->base, base, base_size);
    g_hash_table_insert (queues->by_path, local->base, local);
  }
  if (local == queues->idle)
    queues->idle = NULL;
  local->users++;
  return local;
}

void
curator_local_queue_leave (CuratorLocalQueue *local)
{
  if (--local->users > 0)
    return;
  g_assert (local->last == NULL && local->listing == NULL);
  LocalQueues *queues = queues_of (local->session);
  if (queues->idle != NULL) {
    g_hash_table_remove (queues->by_path, queues->idle->base);
    g_free (queues->idle);
  }
  queues->idle = local;
}

gboolean
curator_local_queue_is_occupied (CuratorSession *session, const char *base, const char *kind)
{
  const CuratorLocalQueue *local = g_hash_table_lookup (queues_of (session)->by_path, base);
  return local != NULL && local->last != NULL && g_str_equal (local->last->kind, kind)
         && session->state != CURATOR_SESSION_DEAD
         && curator_lease_clock_remaining_ms (session) > 0;
}

void
curator_local_queue_note_contender (CuratorLocalQueue *local)
{
  const guint hash = g_str_hash (local->base);
  queues_of (local->session)->contended[hash % N_CONTENDED] =
      (Contended){ .hash = hash, .seen_us = curator_client_now_us (local->session->client) };
}

gboolean
curator_local_queue_is_contended (CuratorSession *session, const char *base)
{
  const guint hash = g_str_hash (base);
  LocalQueues *queues = queues_of (session);
  const Contended *slot = &queues->contended[hash % N_CONTENDED];
  const CuratorLocalQueue *local = g_hash_table_lookup (queues->by_path, base);

  return (local != NULL && local->users > 0)
         || (slot->hash == hash && slot->seen_us != 0
             && curator_client_now_us (session->client) - slot->seen_us < CONTENDED_US);
}

gboolean
curator_local_queue_note_create (CuratorLocalQueue *local, gboolean has_neighbours, guint64 *number)
{
  *number = ++local->n_creates;
  return local->listing == NULL && (!has_neighbours || local->users == 1);
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
  if (last != NULL && last->number + 1 == number && g_str_equal (last->kind, kind)) {
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
  if (to->behind != NULL) {
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
  if (behind != NULL && ahead == NULL && local->session->state != CURATOR_SESSION_DEAD)
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
      || !g_str_equal (before->lock_name, internals->lock_name)) {
    curator_queue_clear (&list->queue);
    curator_queue_init (&list->queue, (const char *const *) children->data, (gsize) children->count,
                        curator_lock_internals_key, internals);
    list->sorted_for = internals;
  }
  return &list->queue;
}

static CURATOR_LOCKED void
on_listed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorListing *listing = data;
  CuratorSortedList list = { 0 };
  GList *link;

  listing->request = NULL;
  if (listing->local->listing == listing)
    listing->local->listing = NULL;
  if (rc == ZOK)
    curator_reaper_note_list (listing->local->session->client, listing->local->base,
                              reply->children);
  while ((link = g_queue_pop_head_link (&listing->users)) != NULL) {
    CuratorListingUser *user = link->data;
    user->listing = NULL;
    user->listed (user, rc, reply, &list);
  }
  curator_queue_clear (&list.queue);
  g_free (listing);
}

void
curator_listing_join (CuratorListingUser *user, CuratorLocalQueue *local, guint64 create)
{
  CuratorListing *listing = local->listing;

  if (listing == NULL || listing->n_creates < create) {
    listing = g_new (CuratorListing, 1);
    *listing = (CuratorListing){ .local = local, .n_creates = local->n_creates };
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
  if (listing->request != NULL && listing->users.length == 0) {
    curator_request_forget (listing->request);
    if (listing->local->listing == listing)
      listing->local->listing = NULL;
    g_free (listing);
  }
}
