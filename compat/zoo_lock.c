/* ZooKeeper's own lock recipe, over a client that shares the program's handle.
 *
 * Threads: any calls the functions of the header. Results of acquisitions come on the client's
 * thread for callbacks, losses on its thread for states, session events on the handle's thread;
 * completions run on a thread that lives as long as there is something to tell. One mutex guards
 * everything here. It is not held while code of the program runs, nor while anything waits for a
 * server. fork () waits for it, so what uses GLib holds it.
 */
#define CURATOR_COMPAT_IMPLEMENTATION
#include "curator/compat/zoo_lock.h"

#include <curator/curator.h>
#include <curator/zookeeper.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#define RETRY_MS      100 /* between attempts while there is no connection */
#define FIRST_LOOK_MS 20  /* a lock that is free is granted before anybody looks at its queue */
#define LAST_LOOK_MS  320
#define LEAVE_MS      5000 /* for a queue to be left; the rest goes on in the background */

/* One client for each list of permissions. */
typedef struct _Share
{
  struct _Share *next;
  char *acl;
  CuratorClient *client;
} Share;

/* A handle of the program's that has, or had, mutexes. */
typedef struct
{
  gint refs;         /* atomic */
  zhandle_t *zh;     /* NULL once it is closed */
  watcher_fn before; /* the program's own watcher */
  Share *shares;
} Handle;

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
  CuratorLease *lease; /* held, or lost a moment ago */
  gboolean has_ended;  /* the hold, before anybody has unlocked */
  int rc;              /* of the last attempt that failed */
  GPtrArray *words;    /* for the completion, in order; a lease: acquired; NULL: released or lost */
  const char *teller;  /* self of the thread that runs the completion */
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
static _Thread_local const char self;

static void
init_changed (void)
{
  pthread_condattr_t attributes;
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&changed, &attributes);
  pthread_condattr_destroy (&attributes);
}

static void
lock_guard (void)
{
  pthread_mutex_lock (&guard);
}

static void
unlock_guard (void)
{
  pthread_mutex_unlock (&guard);
}

/* Whoever waited is not there, and what there was is the parent's. */
static void
begin_as_child (void)
{
  init_changed ();
  g_hash_table_remove_all (handles);
  g_hash_table_remove_all (faces);
  pthread_mutex_unlock (&guard);
}

static void
prepare (void)
{
  init_changed ();
  handles = g_hash_table_new (NULL, NULL);
  faces = g_hash_table_new (NULL, NULL);
  /* The library's handlers first: fork () gets the guard before it closes the library's gate. */
  curator_client_unref (curator_client_new_for_zhandle (NULL, NULL));
  pthread_atfork (lock_guard, unlock_guard, begin_as_child);
}

/* FALSE: that time has passed. No thread is cancelled here, for it would end with the guard. */
static gboolean
wait_for_change (gint64 until_us)
{
  const struct timespec until = { until_us / G_USEC_PER_SEC, until_us % G_USEC_PER_SEC * 1000 };
  int cancel_state;

  pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, &cancel_state);
  const int rc = pthread_cond_timedwait (&changed, &guard, &until);
  pthread_setcancelstate (cancel_state, NULL);
  return rc != ETIMEDOUT;
}

/* Without the guard, which the destroy functions of a client's listeners take. */
static void
handle_unref (Handle *handle)
{
  if (!g_atomic_int_dec_and_test (&handle->refs))
    return;
  for (Share *share = handle->shares, *next; share != NULL; share = next) {
    next = share->next;
    curator_client_unref (share->client);
    g_free (share->acl);
    g_free (share);
  }
  g_free (handle);
}

static void
drop_mutex (gpointer data)
{
  Mutex *mutex = data;
  pthread_mutex_lock (&guard);
  const gboolean is_last = --mutex->refs == 0;
  if (is_last) {
    g_ptr_array_unref (mutex->words);
    g_ptr_array_unref (mutex->names);
  }
  pthread_mutex_unlock (&guard);
  if (is_last) {
    curator_lock_unref (mutex->lock);
    handle_unref (mutex->handle);
    g_free (mutex->path);
    g_free (mutex);
  }
}

static void
attempt_unref (Attempt *attempt)
{
  if (--attempt->refs == 0) {
    g_object_unref (attempt->cancellable);
    g_free (attempt);
  }
}

/* The program may look at id and ownerid at any time, so a name stays until the next
 * acquisition. */
static char *
keep_name (Mutex *mutex, const char *node)
{
  if (*node == '\0')
    return (char *) "";
  const char *slash = strrchr (node, '/');
  char *name = g_strdup (slash != NULL ? slash + 1 : node);
  g_ptr_array_add (mutex->names, name);
  return name;
}

static void
show (Mutex *mutex, const char *own, const char *holder, gboolean is_owner)
{
  zkr_lock_mutex_t *face = mutex->face;
  if (face != NULL) {
    face->id = own != NULL ? keep_name (mutex, own) : NULL;
    face->ownerid = holder != NULL ? keep_name (mutex, holder) : face->ownerid;
    face->isOwner = is_owner;
  }
}

static gboolean
is_valid (CuratorLease *lease)
{
  return lease != NULL && curator_lease_get_state (lease) < CURATOR_LEASE_STATE_LOST;
}

/* With the guard held. */
static void
add_word (Mutex *mutex, CuratorLease *lease)
{
  if (mutex->face != NULL && mutex->face->completion != NULL)
    g_ptr_array_add (mutex->words, lease != NULL ? curator_lease_ref (lease) : NULL);
}

static gboolean
is_told_by_another (const Mutex *mutex)
{
  return mutex->teller != NULL && mutex->teller != &self;
}

static void hand_over (void *mutex);

/* With the guard held, but while the completion runs. A lock that is lost meanwhile has not been
 * acquired. */
static void
tell_first (Mutex *mutex)
{
  CuratorLease *lease = g_ptr_array_remove_index (mutex->words, 0);
  const gboolean is_true = lease == NULL || is_valid (lease);
  const int rc = lease != NULL ? 0 : 1;
  const zkr_lock_completion completion = mutex->face != NULL ? mutex->face->completion : NULL;
  void *cbdata = completion != NULL ? mutex->face->cbdata : NULL;
  const char *before = mutex->teller;
  mutex->teller = &self;
  pthread_mutex_unlock (&guard);
  g_clear_pointer (&lease, curator_lease_unref);
  pthread_cleanup_push (hand_over, mutex);
  if (completion != NULL && is_true)
    completion (rc, cbdata);
  pthread_cleanup_pop (FALSE);
  pthread_mutex_lock (&guard);
  mutex->teller = before;
  pthread_cond_broadcast (&changed);
}

/* Returns when there is nothing to tell any more, and nobody tells it. Takes a reference. */
static void *
tell_words (void *data)
{
  Mutex *mutex = data;
  pthread_mutex_lock (&guard);
  while (is_told_by_another (mutex) || mutex->words->len > 0)
    if (is_told_by_another (mutex))
      wait_for_change (G_MAXINT64);
    else
      tell_first (mutex);
  pthread_mutex_unlock (&guard);
  drop_mutex (mutex);
  return NULL;
}

/* The completion may block, and what the library's threads have to tell is for other mutexes, too.
 * Where no thread is left, it runs on one of those all the same. Takes a reference. */
static void
tell_in_background (Mutex *mutex)
{
  sigset_t all;
  sigset_t before;
  pthread_t thread;
  pthread_mutex_lock (&guard);
  const gboolean has_words = mutex->words->len > 0;
  pthread_mutex_unlock (&guard);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  if (!has_words)
    drop_mutex (mutex);
  else if (pthread_create (&thread, NULL, tell_words, mutex) == 0)
    pthread_detach (thread);
  else
    tell_words (mutex);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
}

/* The completion has ended its thread. */
static void
hand_over (void *data)
{
  Mutex *mutex = data;
  pthread_mutex_lock (&guard);
  mutex->teller = NULL;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&guard);
  tell_in_background (mutex);
}

/* With the guard held. Returns what is to be released when that has been told. */
static CuratorLease *
end_hold (Mutex *mutex)
{
  CuratorLease *lease = g_steal_pointer (&mutex->lease);
  if (lease != NULL) {
    mutex->has_ended = TRUE;
    show (mutex, NULL, "", FALSE);
    add_word (mutex, NULL);
  }
  return lease;
}

static void
notice_loss (Mutex *mutex)
{
  pthread_mutex_lock (&guard);
  CuratorLease *lost = is_valid (mutex->lease) ? NULL : end_hold (mutex);
  mutex->refs++;
  pthread_mutex_unlock (&guard);
  tell_in_background (mutex);
  g_clear_pointer (&lost, curator_lease_unref);
}

static void
on_lease_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  notice_loss (data);
}

static int
code_of (const GError *error)
{
  if (error->domain == CURATOR_ZK_ERROR)
    return error->code;
  switch (error->domain == CURATOR_ERROR ? error->code : -1) {
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
  if (mutex != NULL) {
    mutex->refs++;
    mutex->attempt = NULL;
    mutex->lease = lease;
    mutex->rc = lease == NULL ? code_of (error) : ZOK;
    attempt_unref (attempt); /* the mutex' own */
    if (lease != NULL) {
      const char *name = curator_lease_get_node_name (lease);
      show (mutex, name, name, TRUE);
      add_word (mutex, lease);
      mutex->refs++;
      curator_lease_add_listener (lease, on_lease_state, mutex, drop_mutex);
    }
  }
  attempt->is_over = TRUE;
  attempt_unref (attempt);
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&guard);
  if (mutex != NULL)
    tell_in_background (mutex);
  else
    g_clear_pointer (&lease, curator_lease_unref); /* releases it */
}

/* The watcher of every handle that has mutexes. */
static void
forward (zhandle_t *zh, int type, int state, const char *path, void *context)
{
  pthread_mutex_lock (&guard);
  const Handle *handle = g_hash_table_lookup (handles, zh);
  const Share *share = handle != NULL ? handle->shares : NULL;
  const watcher_fn before = handle != NULL ? handle->before : NULL;
  for (; share != NULL; share = share->next)
    curator_client_forward_event (share->client, zh, type, state, path);
  pthread_mutex_unlock (&guard);
  if (before != NULL)
    before (zh, type, state, path, context);
}

static char *
acl_text (const struct ACL_vector *acl)
{
  GString *text = g_string_new (NULL);
  for (int i = 0; acl != NULL && i < acl->count; i++)
    g_string_append_printf (text, "%d:%s:%s\n", acl->data[i].perms, acl->data[i].id.scheme,
                            acl->data[i].id.id);
  return g_string_free (text, FALSE);
}

/* Borrowed from the handle; NULL if it did not start. */
static CuratorClient *
client_of (Handle *handle, const struct ACL_vector *acl, GError **error)
{
  g_autofree char *text = acl_text (acl);
  for (const Share *share = handle->shares; share != NULL; share = share->next)
    if (g_str_equal (share->acl, text))
      return share->client;
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (RETRY_MS);
  CuratorClient *client = curator_client_new_for_zhandle (handle->zh, policy);
  curator_client_set_acl (client, acl);
  if (!curator_client_start (client, error)) {
    curator_client_unref (client);
    return NULL;
  }
  Share *share = g_new (Share, 1);
  *share = (Share){ handle->shares, g_steal_pointer (&text), client };
  handle->shares = share;
  return client;
}

/* Nobody wants the result any more. With the guard held. FALSE: the queue is still being left. */
static gboolean
withdraw (Mutex *mutex)
{
  Attempt *attempt = g_steal_pointer (&mutex->attempt);
  if (attempt == NULL)
    return TRUE;
  const gint64 end = g_get_monotonic_time () + LEAVE_MS * 1000LL;
  attempt->mutex = NULL;
  g_cancellable_cancel (attempt->cancellable);
  while (!attempt->is_over && wait_for_change (end)) {
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
  CuratorLease *lease = g_steal_pointer (&mutex->lease);
  g_hash_table_remove (faces, mutex->face);
  mutex->face = NULL;
  pthread_mutex_unlock (&guard);
  tell_words (mutex);                            /* nobody any more */
  g_clear_pointer (&lease, curator_lease_unref); /* releases it in the background */
}

/* With the guard held. */
static int
create_mutex (zkr_lock_mutex_t *face)
{
  g_autoptr (GError) error = NULL;
  Handle *handle = g_hash_table_lookup (handles, face->zh);
  if (handle == NULL) {
    handle = g_new0 (Handle, 1);
    handle->refs = 1;
    handle->zh = face->zh;
    g_hash_table_insert (handles, face->zh, handle);
    handle->before = zoo_set_watcher (face->zh, forward);
  }
  CuratorClient *client = client_of (handle, face->acl, &error);
  CuratorLock *lock = client != NULL ? curator_mutex_new (client, face->path, &error) : NULL;
  if (lock == NULL)
    return code_of (error);
  Mutex *mutex = g_new0 (Mutex, 1);
  mutex->refs = 1;
  mutex->face = face;
  mutex->path = g_strdup (face->path);
  mutex->handle = handle;
  mutex->client = client;
  mutex->lock = lock;
  mutex->words = g_ptr_array_new ();
  mutex->names = g_ptr_array_new_with_free_func (g_free);
  g_atomic_int_inc (&handle->refs);
  g_hash_table_insert (faces, face, mutex);
  face->curator = mutex;
  return ZOK;
}

int
zkr_lock_init_cb (zkr_lock_mutex_t *mutex, zhandle_t *zh, char *path, struct ACL_vector *acl,
                  zkr_lock_completion completion, void *cbdata)
{
  pthread_once (&once, prepare);
  pthread_mutex_lock (&guard);
  Mutex *earlier = g_hash_table_lookup (faces, mutex);
  pthread_mutex_unlock (&guard);
  if (earlier != NULL)
    discard (earlier);
  *mutex = (zkr_lock_mutex_t){
    .zh = zh, .path = path, .acl = acl, .cbdata = cbdata, .completion = completion
  };
  if (zh == NULL || path == NULL)
    return ZBADARGUMENTS;
  pthread_mutex_lock (&guard);
  const int rc = create_mutex (mutex);
  pthread_mutex_unlock (&guard);
  return rc;
}

int
zkr_lock_init (zkr_lock_mutex_t *mutex, zhandle_t *zh, char *path, struct ACL_vector *acl)
{
  return zkr_lock_init_cb (mutex, zh, path, acl, NULL, NULL);
}

/* Why it cannot be locked any more; ZOK if it can. */
static int
check_handle (const Mutex *mutex)
{
  zhandle_t *zh = mutex->handle->zh;
  if (zh == NULL || mutex->face == NULL)
    return ZCLOSING;
  const int state = zoo_state (zh);
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
  mutex->has_ended = FALSE;
  mutex->rc = ZOK;
  show (mutex, NULL, "", FALSE);
  g_ptr_array_set_size (mutex->names, 0);
  curator_lock_acquire_then (mutex->lock, CURATOR_WAIT_FOREVER, attempt->cancellable, on_acquired,
                             attempt);
}

/* Looks whether others are in front, without the guard. The attempt's node is the first one of the
 * session in that queue behind another: if the session has several, this is for show only. */
static void
look (Mutex *mutex, Attempt *attempt, gint64 timeout_ms)
{
  g_autoptr (CuratorInspection) queue =
      curator_client_inspect (mutex->client, mutex->path, timeout_ms, attempt->cancellable, NULL);
  const guint n = queue != NULL ? curator_inspection_get_n_participants (queue) : 0;
  const gint64 session = curator_client_get_session_id (mutex->client);
  for (guint i = 1; i < n; i++) {
    const CuratorParticipant *own = curator_inspection_get_participant (queue, i);
    if (curator_participant_get_session_id (own) == session) {
      const CuratorParticipant *first = curator_inspection_get_participant (queue, 0);
      pthread_mutex_lock (&guard);
      if (mutex->attempt == attempt) {
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
  while (mutex->attempt == attempt && !attempt->is_placed
         && (now = g_get_monotonic_time ()) < end) {
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
  notice_loss (own);
  pthread_mutex_lock (&guard);
  own->refs++; /* another thread may end the mutex meanwhile */
  int rc = ZOK;
  if (own->lease == NULL && (rc = check_handle (own)) == ZOK) {
    if (own->attempt == NULL)
      begin (own);
    Attempt *attempt = own->attempt;
    attempt->refs++;
    await_place (own, attempt);
    rc = own->rc;
    attempt_unref (attempt);
  }
  pthread_mutex_unlock (&guard);
  drop_mutex (own);
  return rc;
}

int
zkr_lock_lock_isowner (zkr_lock_mutex_t *mutex)
{
  zkr_lock_lock (mutex);
  return zkr_lock_isowner (mutex);
}

static void
release_in_background (void *lease)
{
  g_clear_pointer ((CuratorLease **) lease, curator_lease_unref);
}

/* The completion first, so that nobody else is told of the lock before. */
int
zkr_lock_unlock (zkr_lock_mutex_t *mutex)
{
  Mutex *own = mutex->curator;
  if (own == NULL)
    return ZBADARGUMENTS;
  pthread_mutex_lock (&guard);
  if (own->lease == NULL && own->attempt == NULL && !own->has_ended) {
    pthread_mutex_unlock (&guard);
    return ZSYSTEMERROR;
  }
  own->refs++;
  const gboolean has_left = withdraw (own);
  CuratorLease *lease = g_steal_pointer (&own->lease);
  if (!own->has_ended)
    add_word (own, NULL);
  own->has_ended = FALSE;
  show (own, NULL, NULL, FALSE);
  mutex->id = NULL; /* perhaps a copy */
  mutex->isOwner = 0;
  pthread_mutex_unlock (&guard);
  pthread_cleanup_push (release_in_background, &lease);
  tell_words (own);
  pthread_cleanup_pop (FALSE);
  const gboolean is_confirmed =
      lease == NULL || curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
  g_clear_pointer (&lease, curator_lease_unref);
  return has_left && is_confirmed ? ZOK : ZCONNECTIONLOSS;
}

void
zkr_lock_setcallback (zkr_lock_mutex_t *mutex, zkr_lock_completion completion)
{
  const Mutex *own = mutex->curator;
  pthread_mutex_lock (&guard);
  mutex->completion = completion;
  if (own != NULL && own->face != NULL)
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
  const gboolean held = is_valid (own->lease);
  pthread_mutex_unlock (&guard);
  return held;
}

char *
zkr_lock_getid (zkr_lock_mutex_t *mutex)
{
  return mutex->ownerid;
}

/* Ends the holds, and returns when that has been told. */
static void
settle (const Handle *handle)
{
  GHashTableIter iter;
  gpointer value;
  pthread_mutex_lock (&guard);
  g_hash_table_iter_init (&iter, faces);
  while (g_hash_table_iter_next (&iter, NULL, &value)) {
    Mutex *mutex = value;
    CuratorLease *lease = mutex->handle == handle ? end_hold (mutex) : NULL;
    if (mutex->handle != handle
        || (lease == NULL && mutex->words->len == 0 && !is_told_by_another (mutex)))
      continue;
    mutex->refs++;
    pthread_mutex_unlock (&guard);
    pthread_cleanup_push (release_in_background, &lease);
    tell_words (mutex);
    pthread_cleanup_pop (TRUE);
    pthread_mutex_lock (&guard);
    g_hash_table_iter_init (&iter, faces); /* it may have changed */
  }
  pthread_mutex_unlock (&guard);
}

int
zkr_lock_close_handle (zhandle_t *zh)
{
  pthread_mutex_lock (&guard);
  Handle *handle = handles != NULL ? g_hash_table_lookup (handles, zh) : NULL;
  if (handle != NULL) {
    g_hash_table_remove (handles, zh);
    zoo_set_watcher (zh, handle->before);
    handle->zh = NULL;
  }
  pthread_mutex_unlock (&guard);
  if (handle != NULL) {
    settle (handle);
    for (const Share *share = handle->shares; share != NULL; share = share->next)
      curator_client_close (share->client);
    settle (handle); /* what was acquired meanwhile */
    handle_unref (handle);
  }
  return zookeeper_close (zh);
}
