/* Keeps the children of nodes that do not change, so that a look at thousands of locks costs no
 * request for those that nobody touches.
 *
 * Curator has no counterpart; its PathChildrenCache is similar. Threads: any; guarded by the client's
 * mutex.
 *
 * NOTES: a node gets a watch when two lists in a row were equal. A change takes the watch away, so a
 * busy lock costs one list for each look, not one for each change. Nobody has to say that the looks
 * have ended: what was not asked for in a minute is dropped by the next sweep, with its watch.
 */
#include "inspect/listings.h"

#include "inspect/grammar.h"
#include "session/watches.h"

#define IDLE_US (60 * G_USEC_PER_SEC)

typedef struct
{
  CuratorWatch *watch; /* NULL: not watched */
  GPtrArray *children; /* NULL unless the watch vouches for them */
  gboolean has_digest;
  guint64 digest;      /* of the last list */
  gboolean is_current; /* no change was seen since curator_listing_begin() */
  gint64 used_us;
} Listing;

static CURATOR_LOCKED void
forget_children (Listing *listing)
{
  g_clear_pointer (&listing->children, g_ptr_array_unref);
  listing->has_digest = FALSE;
  listing->is_current = FALSE;
}

static CURATOR_LOCKED void
unwatch (Listing *listing)
{
  forget_children (listing);
  g_clear_pointer (&listing->watch, curator_watch_release);
}

static void
listing_free (gpointer data)
{
  Listing *listing = data;

  curator_not_shared ();
  unwatch (listing);
  g_free (listing);
}

static CURATOR_LOCKED Listing *
find (CuratorClient *client, const char *path)
{
  Listing *listing = client->listings != NULL ? g_hash_table_lookup (client->listings, path) : NULL;

  /* The watch of an ended session says nothing. */
  if (listing != NULL && listing->watch != NULL && curator_watch_get_path (listing->watch) == NULL)
    {
      unwatch (listing);
    }
  return listing;
}

/* Runs on the timer lane. */
static CURATOR_LOCKED void
on_sweep_due (gpointer data)
{
  CuratorClient *client = data;
  const gint64 before_us = client->ops->monotonic_us (client->ops) - IDLE_US;
  GHashTableIter iter;
  gpointer listing;

  client->listings_timer = NULL;
  g_hash_table_iter_init (&iter, client->listings);
  while (g_hash_table_iter_next (&iter, NULL, &listing))
    {
      if (((Listing *) listing)->used_us < before_us)
        {
          g_hash_table_iter_remove (&iter);
        }
    }
  if (g_hash_table_size (client->listings) > 0)
    {
      client->listings_timer = curator_timer_after (client, IDLE_US, on_sweep_due, client);
    }
}

static CURATOR_LOCKED Listing *
find_or_add (CuratorClient *client, const char *path)
{
  Listing *listing = find (client, path);

  if (listing != NULL)
    {
      return listing;
    }
  if (client->listings == NULL)
    {
      client->listings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, listing_free);
    }
  if (client->listings_timer == NULL)
    {
      client->listings_timer = curator_timer_after (client, IDLE_US, on_sweep_due, client);
    }
  listing = g_new0 (Listing, 1);
  g_hash_table_insert (client->listings, g_strdup (path), listing);
  return listing;
}

static GPtrArray *
copy_of (const struct String_vector *names)
{
  GPtrArray *children = g_ptr_array_new_full ((guint) names->count, g_free);

  for (int i = 0; i < names->count; i++)
    {
      g_ptr_array_add (children, g_strdup (names->data[i]));
    }
  return children;
}

static CURATOR_LOCKED void
on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  Listing *listing = data;

  if (event != CURATOR_WATCH_ARMED)
    {
      unwatch (listing);
    }
  else if (reply != NULL && reply->children != NULL)
    {
      g_clear_pointer (&listing->children, g_ptr_array_unref);
      listing->children = copy_of (reply->children);
    }
}

GPtrArray *
curator_listing_dup (CuratorClient *client, const char *path)
{
  Listing *listing = find (client, path);

  if (listing == NULL || listing->children == NULL)
    {
      return NULL;
    }
  listing->used_us = client->ops->monotonic_us (client->ops);
  return g_ptr_array_ref (listing->children);
}

void
curator_listing_begin (CuratorClient *client, const char *path)
{
  Listing *listing = find_or_add (client, path);

  listing->used_us = client->ops->monotonic_us (client->ops);
  listing->is_current = listing->watch != NULL;
}

void
curator_listing_end (CuratorClient *client, const char *path, GPtrArray *children)
{
  Listing *listing = find (client, path);

  if (listing == NULL)
    {
      return;
    }
  const guint64 digest = curator_grammar_digest (children);
  const gboolean is_same = listing->has_digest && listing->digest == digest;
  listing->has_digest = TRUE;
  listing->digest = digest;
  if (listing->watch == NULL && is_same && client->session != NULL)
    {
      listing->watch = curator_watch_add (client->session, path, ZWATCHTYPE_CHILD,
                                          CURATOR_WATCH_OPTIONAL, on_watch, listing);
    }
  else if (listing->watch != NULL && listing->is_current && listing->children == NULL)
    {
      listing->children = g_ptr_array_ref (children);
    }
}
