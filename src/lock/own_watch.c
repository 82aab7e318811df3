/* Watches one's own lock node, for a request to release it and for its deletion.
 *
 * Mirrors LockInternals.checkRevocableWatcher, but also compares the payload of the read that sets
 * the watch, so that no early request is missed. Threads: watch events arrive on ZooKeeper's
 * thread; guarded by the client's mutex.
 */
#include "lock/own_watch.h"

#include "base/guards.h"
#include "base/gzip.h"
#include "lock/revocation.h"
#include "lock/wire.h"
#include "session/request.h"
#include "session/session.h"
#include "session/watches.h"

#include <string.h>

struct _CuratorOwnWatch
{
  CuratorLockInternals *internals;
  CuratorSession *session;
  char *path;
  gint64 czxid; /* of our node; 0 where it is not known */
  CuratorWatch *watch CURATOR_GUARDED;
  CuratorRequest *read CURATOR_GUARDED;
  gint64 reported_mzxid CURATOR_GUARDED;  /* a request is reported once, however often read */
  gboolean is_report_due CURATOR_GUARDED; /* a request came while the lock was waited for */
  CuratorLease *lease CURATOR_GUARDED; /* borrowed: the lease ends the watch before it is freed */
  void (*on_gone) (CuratorLease *lease);
};

/* Curator compares the decompressed payload, so a request comes in either form. */
static gboolean
is_request (const char *data, int length)
{
  static const char request[] = CURATOR_REVOKE_PAYLOAD;
  g_autoptr (GBytes) plain = curator_gunzip (data, (gsize) length, strlen (request));
  gsize size = (gsize) length;
  const char *text = plain != NULL ? g_bytes_get_data (plain, &size) : data;
  return size == strlen (request) && memcmp (text, request, size) == 0;
}

static CURATOR_LOCKED void
report_gone (CuratorOwnWatch *own)
{
  g_clear_pointer (&own->watch, curator_watch_release);
  if (own->on_gone != NULL)
    own->on_gone (own->lease);
}

/* What was read: our node, or one that has taken its place. Only the exact payload is a request,
 * once for each write. */
static CURATOR_LOCKED void
check_node (CuratorOwnWatch *own, const CuratorZkReply *reply)
{
  const struct Stat *stat = reply->stat;

  if (stat != NULL && own->czxid != 0 && stat->czxid != own->czxid) {
    report_gone (own);
  } else if (stat != NULL && reply->data_length >= 0 && stat->mzxid != own->reported_mzxid
             && is_request (reply->data, reply->data_length)) {
    own->reported_mzxid = stat->mzxid;
    own->is_report_due = !curator_revocation_report (own->internals, own->lease);
  }
}

static CURATOR_LOCKED void
on_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorOwnWatch *own = data;
  own->read = NULL;
  if (rc == ZOK)
    check_node (own, reply);
}

static CURATOR_LOCKED void
on_watch (CuratorWatch *watch, CuratorWatchEvent event, int rc, const CuratorZkReply *reply,
          gpointer data)
{
  CuratorOwnWatch *own = data;

  if (event == CURATOR_WATCH_ARMED && reply != NULL)
    check_node (own, reply);
  /* A waiter of this session had set the watch already, perhaps on a node that has taken the place
   * of ours. */
  else if (event == CURATOR_WATCH_ARMED && own->read == NULL
           && (own->czxid != 0 || own->internals->revocable != NULL))
    own->read = curator_request_get (own->session, own->path, FALSE, on_read, own);
  else if (event == CURATOR_WATCH_GONE)
    report_gone (own);
  else if (event == CURATOR_WATCH_FAILED)
    g_clear_pointer (&own->watch, curator_watch_release);
}

CuratorOwnWatch *
curator_own_watch_new (CuratorLockInternals *internals, CuratorSession *session, const char *path,
                       gint64 czxid)
{
  CuratorOwnWatch *own = g_new0 (CuratorOwnWatch, 1);
  own->internals = curator_lock_internals_ref (internals);
  own->session = curator_session_ref (session);
  own->path = g_strdup (path);
  own->czxid = czxid;
  own->watch =
      curator_watch_add (session, path, ZWATCHTYPE_DATA, CURATOR_WATCH_NEEDED, on_watch, own);
  if (own->watch == NULL)
    g_clear_pointer (&own, curator_own_watch_free);
  return own;
}

void
curator_own_watch_attach (CuratorOwnWatch *own, CuratorLease *lease,
                          void (*on_gone) (CuratorLease *lease))
{
  own->lease = lease;
  own->on_gone = on_gone;
  if (own->is_report_due)
    own->is_report_due = !curator_revocation_report (own->internals, own->lease);
}

void
curator_own_watch_free (CuratorOwnWatch *own)
{
  g_clear_pointer (&own->watch, curator_watch_release);
  g_clear_pointer (&own->read, curator_request_forget);
  curator_session_unref (own->session);
  curator_lock_internals_unref (own->internals);
  g_free (own->path);
  g_free (own);
}

void
curator_own_watch_abandon (CuratorOwnWatch *own)
{
  g_clear_pointer (&own->watch, curator_watch_abandon);
  curator_own_watch_free (own);
}
