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

struct _CuratorLine
{
  CuratorSession *session; /* no reference: its users have one */
  guint users CURATOR_GUARDED;
  guint64 n_creates CURATOR_GUARDED;
  /* The session's last node in this queue. When it leaves, the session's node directly in front of it,
   * or NULL. */
  CuratorPlace *last CURATOR_GUARDED;
  CuratorListing *listing CURATOR_GUARDED; /* the latest, if it is in flight */
  CuratorKnownNode *known CURATOR_GUARDED;   /* by the newest list; or NULL */
  CuratorKnownNode *farther CURATOR_GUARDED; /* one place further back, if that is another node; or NULL */
  CuratorReturnGuess guess CURATOR_GUARDED;  /* of the newest list, and of the time when the last user left */
  /* While nobody uses it, which is only while it has a known node. */
  CuratorSessionHook hook CURATOR_GUARDED;
  GList link; /* in session->idle_lines */
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
curator_known_node_free (CuratorKnownNode *known)
{
  g_free (known->kind);
  g_free (known->leaf);
  g_free (known);
}

static CURATOR_LOCKED void
forget_known (CuratorLine *line)
{
  g_clear_pointer (&line->known, curator_known_node_free);
  g_clear_pointer (&line->farther, curator_known_node_free);
}

static CURATOR_LOCKED void
line_free (CuratorLine *line)
{
  g_hash_table_remove (line->session->lines, line->base);
  forget_known (line);
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

  const gint64 now = curator_client_now_us (session->client);
  line->guess.left_us = now;
  line->link = (GList){ .data = line };
  line->hook.died = on_session_died;
  g_queue_push_tail_link (&session->idle_lines, &line->link);
  curator_session_add_hook (session, &line->hook);
  while ((oldest = g_queue_peek_head (&session->idle_lines))->guess.left_us + CURATOR_RETURN_US
         < now)
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
  if (line->known != NULL && curator_session_is_current (line->session))
    {
      keep_for_return (line);
      return;
    }
  line_free (line);
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
curator_line_note_known (CuratorLine *line, const char *kind, const CuratorQueue *queue,
                         const char *own)
{
  const gssize index = curator_queue_index_of (queue, own);
  const gsize n_behind = index >= 0 ? queue->n_names - (gsize) index - 1 : 0;

  if (n_behind < line->session->client->long_queue || queue->n_foreign > 0 || queue->exhausted)
    {
      forget_known (line);
      return;
    }
  line->guess.n_in_front = (guint) index;
  line->guess.n_behind = (guint) n_behind;
  set_known (&line->known, kind, queue, (gsize) index, CURATOR_RETURN_PLACES);
  if (index < CURATOR_RETURN_PLACES)
    {
      set_known (&line->farther, kind, queue, (gsize) index, CURATOR_RETURN_PLACES + 1);
    }
  else
    {
      g_clear_pointer (&line->farther, curator_known_node_free);
    }
}

CuratorKnownNode *
curator_line_take_known (CuratorLine *line, const char *kind)
{
  CuratorClient *client = line->session->client;
  CuratorReturnGuess *guess = &line->guess;

  if (line->known == NULL || guess->left_us == 0 || !curator_line_is_alone (line)
      || !g_str_equal (line->known->kind, kind)
      || !curator_return_guess_is_likely (guess, curator_client_now_us (client)))
    {
      return NULL;
    }
  guess->least_reply_us = line->session->least_answer_us;
  const gboolean is_farther = line->farther != NULL && curator_return_guess_is_farther (guess);
  CuratorKnownNode **chosen = is_farther ? &line->farther : &line->known;
  CuratorKnownNode *known = g_steal_pointer (chosen);
  known->guess = *guess;
  forget_known (line);
  return known;
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
  listing->line->guess.listed_us = listing->sent_us;
  listing->line->guess.reply_us =
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
