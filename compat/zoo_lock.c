/* ZooKeeper's own lock recipe, over a client that shares the program's handle.
 *
 * Threads: any calls the functions of the header. Results of acquisitions come on the client's thread for callbacks,
 * losses on its thread for states, session events on the handle's thread. One mutex guards everything here. It is not
 * held while code of the program runs, nor while anything waits for a server.
 */
#define CURATOR_COMPAT_IMPLEMENTATION
#include "curator/compat/zoo_lock.h"

#include <curator/curator.h>
#include <curator/zookeeper.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define RETRY_MS      100 /* between attempts while there is no connection */
#define FIRST_LOOK_MS 20  /* a lock that is free is granted before anybody looks at its queue */
#define LAST_LOOK_MS  320
#define LEAVE_MS      5000 /* for a queue to be left; the rest goes on in the background */

/* A handle of the program's that has, or had, mutexes. */
typedef struct
{
  gint refs;         /* atomic */
  zhandle_t *zh;     /* NULL once it is closed */
  watcher_fn before; /* the program's own watcher */
  GPtrArray *shares; /* Share */
} Handle;

/* One client for each list of permissions. */
typedef struct
{
  char *acl;
  CuratorClient *client;
} Share;

typedef struct _Attempt Attempt;

typedef struct
{
  guint refs;
  zkr_lock_mutex_t *face; /* the program's record; NULL once it is destroyed */
  char *path;
  Handle *handle;
  CuratorClient *client; /* the handle's */
  CuratorLock *lock;
  Attempt *attempt;    /* under way */
  CuratorLease *lease; /* held or lost */
  int rc;              /* of the last attempt that failed */
  GThread *telling;    /* which runs the completion */
  GPtrArray *names;    /* what id and ownerid point to */
} Mutex;

struct _Attempt
{
  guint refs;
  Mutex *mutex; /* NULL when nobody wants the lock any more */
  GCancellable *cancellable;
  gboolean is_over;
  gboolean is_placed; /* its node has been seen behind others */
};

/* Not GLib's, which ThreadSanitizer does not see. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* by CLOCK_MONOTONIC; a mutex is prepared before anybody waits */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static GHashTable *handles; /* zhandle_t -> Handle */
static GHashTable *faces;   /* zkr_lock_mutex_t -> Mutex */
static GPrivate is_telling =
    G_PRIVATE_INIT (NULL); /* not NULL on a thread that may not wait for results */

static void
init_changed (void)
{
  pthread_condattr_t attributes;
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&changed, &attributes);
  pthread_condattr_destroy (&attributes);
}

/* FALSE: that time has passed. No thread is cancelled here, for it would end with the guard. */
static gboolean
wait_for_change (gint64 until_us)
{
  const struct timespec until = { until_us / G_USEC_PER_SEC, until_us % G_USEC_PER_SEC * 1000 };
  int cancel_state;

  pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, &cancel_state);
  const int rc = until_us == G_MAXINT64 ? pthread_cond_wait (&changed, &guard)
                                        : pthread_cond_timedwait (&changed, &guard, &until);
  pthread_setcancelstate (cancel_state, NULL);
  return rc != ETIMEDOUT;
}

/* Without the guard, which the destroy functions of a client's listeners take. */
static void
handle_unref (Handle *handle)
{
  if (g_atomic_int_dec_and_test (&handle->refs))
    {
      g_ptr_array_unref (handle->shares);
      g_free (handle);
    }
}

static void
share_free (gpointer data)
{
  Share *share = data;
  curator_client_unref (share->client);
  g_free (share->acl);
  g_free (share);
}

static void
drop_mutex (gpointer data)
{
  Mutex *mutex = data;
  pthread_mutex_lock (&guard);
  const gboolean is_last = --mutex->refs == 0;
  pthread_mutex_unlock (&guard);
  if (is_last)
    {
      curator_lock_unref (mutex->lock);
      handle_unref (mutex->handle);
      g_ptr_array_unref (mutex->names);
      g_free (mutex->path);
      g_free (mutex);
    }
}

static void
attempt_unref (Attempt *attempt)
{
  if (--attempt->refs == 0)
    {
      g_object_unref (attempt->cancellable);
      g_free (attempt);
    }
}

/* The program may look at id and ownerid at any time, so a name stays until the next acquisition. */
static char *
keep_name (Mutex *mutex, const char *node)
{
  const char *slash = strrchr (node, '/');
  char *name = g_strdup (slash != NULL ? slash + 1 : node);
  g_ptr_array_add (mutex->names, name);
  return name;
}

static void
show (Mutex *mutex, const char *own, const char *holder, gboolean is_owner)
{
  zkr_lock_mutex_t *face = mutex->face;
  if (face != NULL)
    {
      face->id = own != NULL ? keep_name (mutex, own) : NULL;
      face->ownerid = holder != NULL ? keep_name (mutex, holder) : face->ownerid;
      face->isOwner = is_owner;
    }
}

/* A completion that runs: it may end its thread. */
typedef struct
{
  Mutex *mutex;
  GThread *before;
} Telling;

static void
end_telling (void *data)
{
  const Telling *telling = data;
  pthread_mutex_lock (&guard);
  telling->mutex->telling = telling->before;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&guard);
  drop_mutex (telling->mutex);
}

/* Runs the completion, without the guard. One at a time for each mutex. Takes a reference. */
static void
tell (Mutex *mutex, int rc)
{
  Telling telling = { .mutex = mutex };
  pthread_mutex_lock (&guard);
  while (mutex->telling != NULL && mutex->telling != g_thread_self ())
    wait_for_change (G_MAXINT64);
  zkr_lock_completion completion = mutex->face != NULL ? mutex->face->completion : NULL;
  void *cbdata = completion != NULL ? mutex->face->cbdata : NULL;
  telling.before = mutex->telling;
  mutex->telling = g_thread_self ();
  pthread_mutex_unlock (&guard);
  pthread_cleanup_push (end_telling, &telling);
  if (completion != NULL)
    completion (rc, cbdata);
  pthread_cleanup_pop (TRUE);
}

/* The same on a thread that results come on. */
static void
tell_from_library (Mutex *mutex, int rc)
{
  g_private_set (&is_telling, &is_telling);
  tell (mutex, rc);
  g_private_set (&is_telling, NULL);
}

static void
on_lease_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Mutex *mutex = data;
  pthread_mutex_lock (&guard);
  const gboolean is_lost = state == CURATOR_LEASE_LOST && mutex->lease == lease;
  if (is_lost)
    {
      mutex->refs++;
      show (mutex, NULL, "", FALSE);
    }
  pthread_mutex_unlock (&guard);
  if (is_lost)
    tell_from_library (mutex, 1);
}

static int
code_of (const GError *error)
{
  if (error->domain == CURATOR_ZK_ERROR)
    return error->code;
  if (error->domain != CURATOR_ERROR)
    return ZSYSTEMERROR;
  switch ((CuratorError) error->code)
    {
    case CURATOR_ERROR_INVALID_ARGUMENT:
      return ZBADARGUMENTS;
    case CURATOR_ERROR_CLOSED:
      return ZCLOSING;
    case CURATOR_ERROR_RELEASE_PENDING:
    case CURATOR_ERROR_CONNECTION_LOST:
    case CURATOR_ERROR_NO_ANSWER:
      return ZCONNECTIONLOSS;
    case CURATOR_ERROR_SESSION_EXPIRED:
      return ZSESSIONEXPIRED;
    case CURATOR_ERROR_AUTH_FAILED:
      return ZAUTHFAILED;
    case CURATOR_ERROR_NOT_STARTED:
    case CURATOR_ERROR_TIMED_OUT:
    case CURATOR_ERROR_NOT_OWNER:
    case CURATOR_ERROR_LOCK_LOST:
    case CURATOR_ERROR_SEQUENCE_EXHAUSTED:
    case CURATOR_ERROR_UNSUPPORTED:
    case CURATOR_ERROR_FORKED:
    case CURATOR_ERROR_LIMIT_EXCEEDED:
    default:
      return ZSYSTEMERROR;
    }
}

static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Attempt *attempt = data;
  pthread_mutex_lock (&guard);
  Mutex *mutex = attempt->mutex;
  if (mutex != NULL)
    {
      mutex->refs++;
      mutex->attempt = NULL;
      mutex->lease = lease;
      mutex->rc = lease == NULL ? code_of (error) : ZOK;
      attempt_unref (attempt); /* the mutex' own */
      if (lease != NULL)
        {
          const char *name = curator_lease_get_node_name (lease);
          show (mutex, name, name, TRUE);
          mutex->refs++;
          curator_lease_add_listener (lease, on_lease_state, mutex, drop_mutex);
        }
    }
  attempt->is_over = TRUE;
  attempt_unref (attempt);
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&guard);
  if (mutex == NULL)
    {
      g_clear_pointer (&lease, curator_lease_unref); /* releases it */
      return;
    }
  if (lease == NULL)
    {
      drop_mutex (mutex);
      return;
    }
  tell_from_library (mutex, 0);
}

/* The watcher of every handle that has mutexes. */
static void
forward (zhandle_t *zh, int type, int state, const char *path, void *context)
{
  g_autoptr (GPtrArray) clients =
      g_ptr_array_new_with_free_func ((GDestroyNotify) curator_client_unref);
  watcher_fn before = NULL;
  pthread_mutex_lock (&guard);
  const Handle *handle = g_hash_table_lookup (handles, zh);
  for (guint i = 0; handle != NULL && i < handle->shares->len; i++)
    {
      const Share *share = g_ptr_array_index (handle->shares, i);
      g_ptr_array_add (clients, curator_client_ref (share->client));
    }
  if (handle != NULL)
    before = handle->before;
  pthread_mutex_unlock (&guard);
  for (guint i = 0; i < clients->len; i++)
    curator_client_forward_event (g_ptr_array_index (clients, i), zh, type, state, path);
  if (before != NULL)
    before (zh, type, state, path, context);
}

static Handle *
handle_of (zhandle_t *zh)
{
  if (handles == NULL)
    {
      handles = g_hash_table_new (NULL, NULL);
      faces = g_hash_table_new (NULL, NULL);
    }
  Handle *handle = g_hash_table_lookup (handles, zh);
  if (handle == NULL)
    {
      handle = g_new0 (Handle, 1);
      handle->refs = 1;
      handle->zh = zh;
      handle->shares = g_ptr_array_new_with_free_func (share_free);
      g_hash_table_insert (handles, zh, handle);
      handle->before = zoo_set_watcher (zh, forward);
    }
  return handle;
}

static char *
acl_text (const struct ACL_vector *acl)
{
  GString *text = g_string_new (NULL);
  for (int i = 0; acl != NULL && i < acl->count; i++)
    {
      g_string_append_printf (text, "%d:%s:%s\n", acl->data[i].perms, acl->data[i].id.scheme,
                              acl->data[i].id.id);
    }
  return g_string_free (text, FALSE);
}

/* Borrowed from the handle; NULL if it did not start. */
static CuratorClient *
client_of (Handle *handle, const struct ACL_vector *acl)
{
  g_autofree char *text = acl_text (acl);
  for (guint i = 0; i < handle->shares->len; i++)
    {
      const Share *share = g_ptr_array_index (handle->shares, i);
      if (g_str_equal (share->acl, text))
        return share->client;
    }
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (RETRY_MS);
  g_autoptr (GError) error = NULL;
  CuratorClient *client = curator_client_new_for_zhandle (handle->zh, policy);
  curator_client_set_acl (client, acl);
  if (!curator_client_start (client, &error))
    {
      g_warning ("%s", error->message);
      curator_client_unref (client);
      return NULL;
    }
  Share *share = g_new (Share, 1);
  share->acl = g_steal_pointer (&text);
  share->client = client;
  g_ptr_array_add (handle->shares, share);
  return client;
}

/* Nobody wants the result any more. With the guard held. FALSE: the queue is still being left, because code of the
 * program keeps the thread that results come on. */
static gboolean
withdraw (Mutex *mutex)
{
  Attempt *attempt = g_steal_pointer (&mutex->attempt);
  if (attempt == NULL)
    return TRUE;
  const gint64 end = g_get_monotonic_time () + LEAVE_MS * 1000LL;
  attempt->mutex = NULL;
  pthread_mutex_unlock (&guard);
  g_cancellable_cancel (attempt->cancellable);
  pthread_mutex_lock (&guard);
  while (!attempt->is_over && g_private_get (&is_telling) == NULL && wait_for_change (end))
    {
    }
  const gboolean is_over = attempt->is_over;
  attempt_unref (attempt);
  return is_over;
}

/* Ends the mutex of a record. */
static void
discard (Mutex *mutex)
{
  pthread_mutex_lock (&guard);
  withdraw (mutex);
  while (mutex->telling != NULL && mutex->telling != g_thread_self ())
    wait_for_change (G_MAXINT64);
  CuratorLease *lease = g_steal_pointer (&mutex->lease);
  g_hash_table_remove (faces, mutex->face);
  mutex->face = NULL;
  pthread_mutex_unlock (&guard);
  g_clear_pointer (&lease, curator_lease_unref); /* releases it in the background */
  drop_mutex (mutex);
}

int
zkr_lock_init_cb (zkr_lock_mutex_t *mutex, zhandle_t *zh, char *path, struct ACL_vector *acl,
                  zkr_lock_completion completion, void *cbdata)
{
  g_autoptr (GError) error = NULL;
  pthread_once (&once, init_changed);
  pthread_mutex_lock (&guard);
  Mutex *earlier = faces != NULL ? g_hash_table_lookup (faces, mutex) : NULL;
  pthread_mutex_unlock (&guard);
  if (earlier != NULL)
    discard (earlier);
  memset (mutex, 0, sizeof *mutex);
  mutex->zh = zh;
  mutex->path = path;
  mutex->acl = acl;
  mutex->completion = completion;
  mutex->cbdata = cbdata;
  if (zh == NULL || path == NULL)
    return ZBADARGUMENTS;
  pthread_mutex_lock (&guard);
  Handle *handle = handle_of (zh);
  CuratorClient *client = client_of (handle, acl);
  CuratorLock *lock = client != NULL ? curator_mutex_new (client, path, &error) : NULL;
  if (lock != NULL)
    {
      Mutex *own = g_new0 (Mutex, 1);
      own->refs = 1;
      own->face = mutex;
      own->path = g_strdup (path);
      own->handle = handle;
      own->client = client;
      own->lock = lock;
      own->names = g_ptr_array_new_with_free_func (g_free);
      g_atomic_int_inc (&handle->refs);
      g_hash_table_insert (faces, mutex, own);
      mutex->curator = own;
    }
  pthread_mutex_unlock (&guard);
  return lock != NULL ? ZOK : error != NULL ? code_of (error) : ZSYSTEMERROR;
}

int
zkr_lock_init (zkr_lock_mutex_t *mutex, zhandle_t *zh, char *path, struct ACL_vector *acl)
{
  return zkr_lock_init_cb (mutex, zh, path, acl, NULL, NULL);
}

static gboolean
is_held (const Mutex *mutex)
{
  if (mutex->lease == NULL)
    return FALSE;
  const CuratorLeaseState state = curator_lease_get_state (mutex->lease);
  return state == CURATOR_LEASE_HELD || state == CURATOR_LEASE_SUSPECT;
}

/* Why the handle is of no use any more; ZOK if it is. */
static int
check_handle (const Handle *handle)
{
  if (handle->zh == NULL)
    return ZCLOSING;
  const int state = zoo_state (handle->zh);
  return state == ZOO_EXPIRED_SESSION_STATE ? ZSESSIONEXPIRED
         : state == ZOO_AUTH_FAILED_STATE   ? ZAUTHFAILED
                                            : ZOK;
}

static void
begin (Mutex *mutex)
{
  Attempt *attempt = g_new0 (Attempt, 1);
  attempt->refs = 2; /* the mutex' and that of the result */
  attempt->mutex = mutex;
  attempt->cancellable = g_cancellable_new ();
  mutex->attempt = attempt;
  mutex->rc = ZOK;
  show (mutex, NULL, "", FALSE);
  /* Of an earlier acquisition, but for the last name, which may be shown. */
  if (mutex->names->len > 1)
    g_ptr_array_remove_range (mutex->names, 0, mutex->names->len - 1);
  curator_lock_acquire_async (mutex->lock, CURATOR_WAIT_FOREVER, attempt->cancellable, on_acquired,
                              attempt);
}

/* Looks whether others are in front, without the guard. The attempt's node is the first one of the session in that
 * queue behind another: if the session has several, this is for show only. */
static void
look (Mutex *mutex, Attempt *attempt, gint64 timeout_ms)
{
  g_autoptr (CuratorInspection) queue =
      curator_inspect (mutex->client, mutex->path, timeout_ms, attempt->cancellable, NULL);
  const guint n = queue != NULL ? curator_inspection_get_n_participants (queue) : 0;
  const gint64 session = curator_client_get_session_id (mutex->client);
  for (guint i = 1; i < n; i++)
    {
      const CuratorParticipant *own = curator_inspection_get_participant (queue, i);
      if (curator_participant_get_session_id (own) == session)
        {
          const CuratorParticipant *first = curator_inspection_get_participant (queue, 0);
          pthread_mutex_lock (&guard);
          if (mutex->attempt == attempt)
            {
              attempt->is_placed = TRUE;
              show (mutex, curator_participant_get_node_path (own),
                    curator_participant_get_node_path (first), FALSE);
            }
          pthread_mutex_unlock (&guard);
          return;
        }
    }
}

/* Until the lock is granted, or others are seen in front. With the guard held. */
static void
await_place (Mutex *mutex, Attempt *attempt)
{
  const gint64 end = g_get_monotonic_time () + zoo_recv_timeout (mutex->handle->zh) * 1000LL;
  gint64 pause_ms = FIRST_LOOK_MS;
  gint64 now;
  while (mutex->attempt == attempt && !attempt->is_placed && (now = g_get_monotonic_time ()) < end)
    {
      if (wait_for_change (now + pause_ms * 1000))
        continue;
      pause_ms = MIN (pause_ms * 2, LAST_LOOK_MS);
      pthread_mutex_unlock (&guard);
      look (mutex, attempt, (end - now) / 1000 + 1);
      pthread_mutex_lock (&guard);
    }
}

int
zkr_lock_lock (zkr_lock_mutex_t *mutex)
{
  Mutex *own = mutex->curator;
  if (own == NULL)
    return ZBADARGUMENTS;
  pthread_mutex_lock (&guard);
  own->refs++; /* another thread may end the mutex meanwhile */
  int rc = ZOK;
  CuratorLease *lost = NULL;
  if (!is_held (own) && (rc = check_handle (own->handle)) == ZOK)
    {
      lost = g_steal_pointer (&own->lease);
      if (own->attempt == NULL)
        begin (own);
      Attempt *attempt = own->attempt;
      attempt->refs++;
      if (g_private_get (&is_telling) == NULL)
        await_place (own, attempt);
      rc = own->rc;
      attempt_unref (attempt);
    }
  pthread_mutex_unlock (&guard);
  g_clear_pointer (&lost, curator_lease_unref);
  drop_mutex (own);
  return rc;
}

int
zkr_lock_lock_isowner (zkr_lock_mutex_t *mutex)
{
  zkr_lock_lock (mutex);
  return zkr_lock_isowner (mutex);
}

int
zkr_lock_unlock (zkr_lock_mutex_t *mutex)
{
  Mutex *own = mutex->curator;
  if (own == NULL)
    return ZBADARGUMENTS;
  pthread_mutex_lock (&guard);
  if (own->lease == NULL && own->attempt == NULL)
    {
      pthread_mutex_unlock (&guard);
      return ZSYSTEMERROR;
    }
  own->refs++;
  const gboolean has_left = withdraw (own) || g_private_get (&is_telling) != NULL;
  CuratorLease *lease = g_steal_pointer (&own->lease);
  /* The loss of a hold is told once, here if nobody has done so yet. */
  const gboolean is_told = lease != NULL && own->face != NULL && !own->face->isOwner;
  show (own, NULL, NULL, FALSE);
  mutex->id = NULL; /* perhaps a copy */
  mutex->isOwner = 0;
  pthread_mutex_unlock (&guard);
  const gboolean is_confirmed = lease == NULL || curator_lease_release (lease, 0, NULL, NULL);
  g_clear_pointer (&lease, curator_lease_unref);
  if (is_told)
    drop_mutex (own);
  else
    tell (own, 1);
  return has_left && is_confirmed ? ZOK : ZCONNECTIONLOSS;
}

void
zkr_lock_setcallback (zkr_lock_mutex_t *mutex, zkr_lock_completion completion)
{
  const Mutex *own = mutex->curator;
  pthread_mutex_lock (&guard);
  mutex->completion = completion;
  if (own != NULL)
    own->face->completion = completion;
  pthread_mutex_unlock (&guard);
}

zkr_lock_completion
zkr_lock_getcallback (zkr_lock_mutex_t *mutex)
{
  return mutex->completion;
}

int
zkr_lock_destroy (zkr_lock_mutex_t *mutex)
{
  Mutex *own = mutex->curator;
  if (own == NULL)
    return ZOK;
  discard (own);
  memset (mutex, 0, sizeof *mutex);
  return ZOK;
}

char *
zkr_lock_getpath (zkr_lock_mutex_t *mutex)
{
  return mutex->path;
}

int
zkr_lock_isowner (zkr_lock_mutex_t *mutex)
{
  const Mutex *own = mutex->curator;
  if (own == NULL)
    return 0;
  pthread_mutex_lock (&guard);
  const gboolean held = is_held (own);
  pthread_mutex_unlock (&guard);
  return held;
}

char *
zkr_lock_getid (zkr_lock_mutex_t *mutex)
{
  return mutex->ownerid;
}

int
zkr_lock_close_handle (zhandle_t *zh)
{
  pthread_mutex_lock (&guard);
  Handle *handle = handles != NULL ? g_hash_table_lookup (handles, zh) : NULL;
  if (handle != NULL)
    {
      g_hash_table_remove (handles, zh);
      zoo_set_watcher (zh, handle->before);
      handle->zh = NULL;
    }
  pthread_mutex_unlock (&guard);
  if (handle != NULL)
    {
      for (guint i = 0; i < handle->shares->len; i++)
        {
          const Share *share = g_ptr_array_index (handle->shares, i);
          curator_client_close (share->client);
        }
      handle_unref (handle);
    }
  return zookeeper_close (zh);
}
