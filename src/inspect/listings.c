/* Keeps the children of nodes that do not change, so that a look at thousands of locks costs no
 * request for those that nobody touches.
 *
 * Curator has no counterpart; its PathChildrenCache is similar. Threads: any; guarded by the
 * client's mutex.
 *
 * NOTES: a node gets a watch when two lists in a row were equal. A change takes the watch away, so
 * a busy lock costs one list for each look, not one for each change. Nobody has to say that the
 * looks have ended: what was not asked for in a minute is dropped by the next sweep, with its
 * watch.
 */
#include "inspect/listings.h"

#include "inspect/fetch.h"
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
unwatch (Listing *listing)
{
  g_clear_pointer (&listing->children, g_ptr_array_unref);
  listing->has_digest = FALSE;
  listing->is_current = FALSE;
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

/* Of one client. */
typedef struct
{
  CuratorClient *client;
  GHashTable *by_path;
  CuratorTimer *timer; /* the next sweep; or NULL */
} Listings;

static void
clear_listings (gpointer data)
{
  g_clear_pointer (&((Listings *) data)->by_path, g_hash_table_unref);
}

static CURATOR_LOCKED Listings *
listings_of (CuratorClient *client)
{
  static const CuratorAttachmentType type = { sizeof (Listings), clear_listings };
  Listings *listings = curator_attached (&client->attached, &type);

  if (listings->by_path == NULL) {
    listings->client = client;
    listings->by_path = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, listing_free);
  }
  return listings;
}

static CURATOR_LOCKED Listing *
find (CuratorClient *client, const char *path)
{
  Listing *listing = g_hash_table_lookup (listings_of (client)->by_path, path);

  /* The watch of an ended session says nothing. */
  if (listing != NULL && listing->watch != NULL && curator_watch_get_path (listing->watch) == NULL)
    unwatch (listing);
  return listing;
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_sweep_due (gpointer data)
{
  Listings *listings = data;
  CuratorClient *client = listings->client;
  const gint64 before_us = client->ops->clocks.monotonic_us (client->ops) - IDLE_US;
  GHashTableIter iter;
  gpointer listing;

  listings->timer = NULL;
  g_hash_table_iter_init (&iter, listings->by_path);
  while (g_hash_table_iter_next (&iter, NULL, &listing))
    if (((Listing *) listing)->used_us < before_us)
      g_hash_table_iter_remove (&iter);
  if (g_hash_table_size (listings->by_path) > 0)
    listings->timer = curator_timer_after (client, IDLE_US, on_sweep_due, listings);
}

static CURATOR_LOCKED void
on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  Listing *listing = data;

  if (event != CURATOR_WATCH_ARMED) {
    unwatch (listing);
  } else if (reply != NULL && reply->children != NULL) {
    g_clear_pointer (&listing->children, g_ptr_array_unref);
    listing->children = curator_copy_names (reply->children);
  }
}

GPtrArray *
curator_listing_dup (CuratorClient *client, const char *path)
{
  Listing *listing = find (client, path);

  if (listing == NULL || listing->children == NULL)
    return NULL;
  listing->used_us = client->ops->clocks.monotonic_us (client->ops);
  return g_ptr_array_ref (listing->children);
}

void
curator_listing_begin (CuratorClient *client, const char *path)
{
  Listings *listings = listings_of (client);
  Listing *listing = find (client, path);

  if (listing == NULL) {
    if (listings->timer == NULL)
      listings->timer = curator_timer_after (client, IDLE_US, on_sweep_due, listings);
    listing = g_new0 (Listing, 1);
    g_hash_table_insert (listings->by_path, g_strdup (path), listing);
  }
  listing->used_us = client->ops->clocks.monotonic_us (client->ops);
  listing->is_current = listing->watch != NULL;
}

void
curator_listing_end (CuratorClient *client, const char *path, GPtrArray *children)
{
  Listing *listing = find (client, path);

  if (listing == NULL)
    return;
  const guint64 digest = curator_grammar_digest (children);
  const gboolean is_same = listing->has_digest && listing->digest == digest;
  listing->has_digest = TRUE;
  listing->digest = digest;
  if (listing->watch == NULL && is_same && client->session != NULL)
    listing->watch = curator_watch_add (client->session, path, ZWATCHTYPE_CHILD,
                                        CURATOR_WATCH_OPTIONAL, on_watch, listing);
  else if (listing->watch != NULL && listing->is_current && listing->children == NULL)
    listing->children = g_ptr_array_ref (children);
}
