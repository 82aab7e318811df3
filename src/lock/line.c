/* The nodes of one session in one queue: neighbours and shared listings.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex.
 *
 * NOTES: two consecutive numbers are neighbours only within one life of the parent, whose counter
 * restarts when it is recreated. It cannot be deleted while the node ahead exists, and that one
 * existed when the next one's create was sent.
 */
#include "lock/line.h"

#include "base/container.h"
#include "base/guards.h"
#include "core/monitor.h"
#include "session/lease_clock.h"
#include "session/request.h"
#include "session/session.h"

#include <string.h>

/* How long a path counts as contended. */
#define CONTENDED_US G_USEC_PER_SEC
/* A contender that was away for longer lists at its arrival: those that were behind it may have gone
 * meanwhile, and finding that out costs a round trip. */
#define RETURN_US G_USEC_PER_SEC
/* A contender that comes back waits behind a node that is probably so far in front: one node is then still
 * in front when it lists. Farther ahead it would know more nodes in front, and read each of them. */
#define AHEAD 2
/* One place further back if a turn takes about as long as a reply, so that the list arrives in time. Not if
 * replies are slow because the processors are busy: then fewer requests are better. */
#define FARTHER (AHEAD + 1)

struct _CuratorLine
{
  CuratorSession *session; /* no reference: its users have one */
  guint users CURATOR_GUARDED;
  guint64 n_creates CURATOR_GUARDED;
  /* The session's last node in this queue. When it leaves, the session's node directly in front of it,
   * or NULL. */
  CuratorPlace *last CURATOR_GUARDED;
  CuratorListing *listing CURATOR_GUARDED; /* the latest, if it is in flight */
  CuratorTail *tail CURATOR_GUARDED;       /* by the newest list; or NULL */
  CuratorTail *farther CURATOR_GUARDED;    /* the other choice, if that is another node; or NULL */
  guint n_behind CURATOR_GUARDED;          /* and how many were behind and in front of our node */
  guint n_in_front CURATOR_GUARDED;
  gint64 listed_us CURATOR_GUARDED; /* when it was sent */
  gint64 answer_us CURATOR_GUARDED; /* how long it took */
  /* While nobody uses it, which is only while it has a tail. */
  CuratorSessionHook hook CURATOR_GUARDED;
  GList link; /* in session->idle_lines */
  gint64 left_us CURATOR_GUARDED;
  char base[];
};

struct _CuratorListing
{
  CuratorLine *line;
  CuratorRequest *request CURATOR_GUARDED;
  guint64 n_creates CURATOR_GUARDED; /* of the line when it was sent */
  gint64 sent_us CURATOR_GUARDED;
  GQueue users CURATOR_GUARDED; /* CuratorListingUser */
};

void
curator_tail_free (CuratorTail *tail)
{
  g_free (tail->kind);
  g_free (tail->leaf);
  g_free (tail);
}

static CURATOR_LOCKED void
forget_tails (CuratorLine *line)
{
  g_clear_pointer (&line->tail, curator_tail_free);
  g_clear_pointer (&line->farther, curator_tail_free);
}

static CURATOR_LOCKED void
line_free (CuratorLine *line)
{
  g_hash_table_remove (line->session->lines, line->base);
  forget_tails (line);
  g_free (line);
}

static CURATOR_LOCKED void
end_idleness (CuratorLine *line)
{
  g_queue_unlink (&line->session->idle_lines, &line->link);
  curator_session_remove_hook (&line->hook);
}

static CURATOR_LOCKED void
on_session_died (CuratorSessionHook *hook)
{
  CuratorLine *line = CURATOR_CONTAINER (hook, CuratorLine, hook);
  end_idleness (line);
  line_free (line);
}

/* Others that are too old are freed on this occasion. */
static CURATOR_LOCKED void
keep_for_return (CuratorLine *line)
{
  CuratorSession *session = line->session;
  CuratorLine *oldest;

  line->left_us = curator_client_now_us (session->client);
  line->link = (GList){ .data = line };
  line->hook.died = on_session_died;
  g_queue_push_tail_link (&session->idle_lines, &line->link);
  curator_session_add_hook (session, &line->hook);
  while ((oldest = g_queue_peek_head (&session->idle_lines))->left_us + RETURN_US < line->left_us)
    {
      end_idleness (oldest);
      line_free (oldest);
    }
}

CuratorLine *
curator_line_join (CuratorSession *session, const char *base)
{
  CuratorLine *line = g_hash_table_lookup (session->lines, base);

  if (line == NULL)
    {
      const gsize base_size = strlen (base) + 1;
      line = g_malloc0 (sizeof *line + base_size);
      line->session = session;
      memcpy (line->base, base, base_size);
      g_hash_table_insert (session->lines, line->base, line);
    }
  else if (line->users == 0)
    {
      end_idleness (line);
    }
  line->users++;
  return line;
}

void
curator_line_leave (CuratorLine *line)
{
  if (--line->users > 0)
    {
      return;
    }
  g_assert (line->last == NULL && line->listing == NULL);
  if (line->tail != NULL && curator_session_is_current (line->session))
    {
      keep_for_return (line);
      return;
    }
  line_free (line);
}

/* Replaces a tail by the node that is probably so far in front of our next one. If those in front of our
 * node come back, too, they do so before us: as many numbers as there were of them come between the last
 * node and our next one. */
static CURATOR_LOCKED void
set_tail (CuratorTail **tail, const char *kind, const CuratorQueue *queue, gsize index, gsize ahead)
{
  const gsize n_behind = queue->n_names - index - 1;
  const gsize too_near = index + 1 < ahead ? ahead - index - 1 : 0;
  const gsize chosen = queue->n_names - 1 - MIN (too_near, n_behind - 1);

  if (*tail != NULL && g_str_equal ((*tail)->leaf, queue->names[chosen])
      && g_str_equal ((*tail)->kind, kind))
    {
      return;
    }
  g_clear_pointer (tail, curator_tail_free);
  *tail = g_new (CuratorTail, 1);
  **tail = (CuratorTail){ .kind = g_strdup (kind),
                          .leaf = g_strdup (queue->names[chosen]),
                          .number = queue->numbers[chosen] };
}

void
curator_line_note_tail (CuratorLine *line, const char *kind, const CuratorQueue *queue,
                        const char *own)
{
  const gssize index = curator_queue_index_of (queue, own);
  const gsize n_behind = index >= 0 ? queue->n_names - (gsize) index - 1 : 0;

  if (n_behind < line->session->client->long_queue || queue->n_foreign > 0 || queue->exhausted)
    {
      forget_tails (line);
      return;
    }
  line->n_in_front = (guint) index;
  line->n_behind = (guint) n_behind;
  set_tail (&line->tail, kind, queue, (gsize) index, AHEAD);
  if (index + 1 < FARTHER)
    {
      set_tail (&line->farther, kind, queue, (gsize) index, FARTHER);
    }
  else
    {
      g_clear_pointer (&line->farther, curator_tail_free);
    }
}

static CURATOR_LOCKED gint64
turn_us (const CuratorLine *line)
{
  return (line->left_us - line->listed_us) / (line->n_in_front + 1);
}

/* An answer that takes much longer than the quickest one waits for processors. */
static CURATOR_LOCKED gboolean
turns_wait_for_answers (const CuratorLine *line)
{
  const gint64 turn = turn_us (line);
  return turn < 2 * line->answer_us && line->answer_us < turn * 3 / 2
         && line->answer_us < line->session->least_answer_us * 5 / 4;
}

gint64
curator_line_list_pause_us (const CuratorLine *line, gint64 distance)
{
  const gint64 until_one_is_left = turn_us (line) * (distance - AHEAD) - line->answer_us / 2;
  const gboolean is_worth_it = until_one_is_left > line->answer_us / 4;
  return is_worth_it && !turns_wait_for_answers (line) ? MIN (until_one_is_left, line->answer_us)
                                                       : 0;
}

/* Those behind our node take their turns when it is gone. The last one is there for certain only if we
 * have come back before half of them can have had theirs, if a turn lasts as long as those before. */
static CURATOR_LOCKED gboolean
tail_is_likely (const CuratorLine *line)
{
  const gint64 away_us = curator_client_now_us (line->session->client) - line->left_us;
  return away_us <= RETURN_US && away_us <= turn_us (line) * (line->n_behind / 2);
}

CuratorTail *
curator_line_take_tail (CuratorLine *line, const char *kind)
{
  if (line->tail == NULL || line->left_us == 0 || !curator_line_is_alone (line)
      || !g_str_equal (line->tail->kind, kind) || !tail_is_likely (line))
    {
      return NULL;
    }
  const gboolean is_farther = line->farther != NULL && turns_wait_for_answers (line);
  CuratorTail **chosen = is_farther ? &line->farther : &line->tail;
  CuratorTail *tail = g_steal_pointer (chosen);
  forget_tails (line);
  return tail;
}

gboolean
curator_line_is_alone (const CuratorLine *line)
{
  return line->users == 1;
}

gboolean
curator_line_is_occupied (CuratorSession *session, const char *base, const char *kind)
{
  const CuratorLine *line = g_hash_table_lookup (session->lines, base);
  return line != NULL && line->last != NULL && g_str_equal (line->last->kind, kind)
         && curator_session_is_current (session) && curator_lease_clock_remaining_ms (session) > 0;
}

static CURATOR_LOCKED CuratorContended *
contended_slot (CuratorSession *session, guint hash)
{
  return &session->contended[hash % CURATOR_N_CONTENDED];
}

void
curator_line_note_contender (CuratorLine *line)
{
  const guint hash = g_str_hash (line->base);
  *contended_slot (line->session, hash) =
      (CuratorContended){ .hash = hash, .seen_us = curator_client_now_us (line->session->client) };
}

gboolean
curator_line_is_contended (CuratorSession *session, const char *base)
{
  const guint hash = g_str_hash (base);
  const CuratorContended *slot = contended_slot (session, hash);

  return g_hash_table_contains (session->lines, base)
         || (slot->hash == hash && slot->seen_us != 0
             && curator_client_now_us (session->client) - slot->seen_us < CONTENDED_US);
}

gboolean
curator_line_is_listing (const CuratorLine *line)
{
  return line->listing != NULL;
}

guint64
curator_line_note_create (CuratorLine *line)
{
  return ++line->n_creates;
}

void
curator_place_take (CuratorPlace *place, CuratorLine *line, const char *kind, gint64 number)
{
  CuratorPlace *last = line->last;

  /* A node that was found after an unknown outcome may be in front of later ones. */
  if (last != NULL && last->number >= number)
    {
      return;
    }
  place->line = line;
  place->kind = kind;
  place->number = number;
  line->users++;
  line->last = place;
  if (last != NULL && last->number + 1 == number && g_str_equal (last->kind, kind))
    {
      place->ahead = last;
      last->behind = place;
    }
}

void
curator_place_move (CuratorPlace *from, CuratorPlace *to)
{
  if (from->line == NULL)
    {
      return;
    }
  g_assert (from->ahead == NULL);
  *to = *from;
  to->is_held = TRUE;
  if (to->behind != NULL)
    {
      to->behind->ahead = to;
      to->behind->klass->ahead_held (to->behind);
    }
  if (to->line->last == from)
    {
      to->line->last = to;
    }
  *from = (CuratorPlace){ .klass = from->klass };
}

void
curator_place_leave (CuratorPlace *place, gboolean released, const char *leaf)
{
  CuratorLine *line = place->line;
  CuratorPlace *ahead = place->ahead;
  CuratorPlace *behind = place->behind;

  if (line == NULL)
    {
      return;
    }
  released = released && !place->number_is_shared;
  *place = (CuratorPlace){ .klass = place->klass };
  if (line->last == place)
    {
      line->last = ahead;
    }
  if (ahead != NULL)
    {
      ahead->behind = behind;
    }
  if (behind != NULL)
    {
      behind->ahead = ahead;
    }
  /* No node can come between the neighbours of one that leaves the middle. */
  if (behind != NULL && ahead == NULL && curator_session_is_current (line->session))
    {
      behind->klass->ahead_left (behind, released, leaf);
    }
  curator_line_leave (line);
}

CuratorQueue *
curator_order_get (CuratorOrder *order, const struct String_vector *children,
                   CuratorLockInternals *internals)
{
  const CuratorLockInternals *before = order->sorted_for;

  if (before == NULL
      || before->driver->funcs.fix_for_sorting != internals->driver->funcs.fix_for_sorting
      || !g_str_equal (before->lock_name, internals->lock_name))
    {
      curator_queue_clear (&order->queue);
      curator_queue_init (&order->queue, (const char *const *) children->data,
                          (gsize) children->count, curator_lock_internals_key, internals);
      order->sorted_for = internals;
    }
  return &order->queue;
}

static CURATOR_LOCKED CuratorListingUser *
next_user (CuratorListing *listing)
{
  GList *link = g_queue_pop_head_link (&listing->users);
  if (link == NULL)
    {
      return NULL;
    }
  CuratorListingUser *user = link->data;
  user->listing = NULL;
  return user;
}

static CURATOR_LOCKED void
forget_listing (CuratorListing *listing)
{
  if (listing->line->listing == listing)
    {
      listing->line->listing = NULL;
    }
}

static CURATOR_LOCKED void
on_listed (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorListing *listing = data;
  CuratorOrder order = { 0 };
  CuratorListingUser *user;

  listing->request = NULL;
  listing->line->listed_us = listing->sent_us;
  listing->line->answer_us =
      curator_client_now_us (listing->line->session->client) - listing->sent_us;
  forget_listing (listing);
  while ((user = next_user (listing)) != NULL)
    {
      user->listed (rc, reply, &order, user->data);
    }
  curator_queue_clear (&order.queue);
  g_free (listing);
}

void
curator_listing_join (CuratorListingUser *user, CuratorLine *line, guint64 create)
{
  CuratorListing *listing = line->listing;

  if (listing == NULL || listing->n_creates < create)
    {
      listing = g_new0 (CuratorListing, 1);
      listing->line = line;
      listing->n_creates = line->n_creates;
      listing->sent_us = curator_client_now_us (line->session->client);
      line->listing = listing;
      listing->request =
          curator_request_get_children (line->session, line->base, FALSE, on_listed, listing);
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
    {
      return;
    }
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
