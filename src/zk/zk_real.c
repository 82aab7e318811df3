/* The ops table for libzookeeper-mt. Nothing outside the zk_ files calls a zoo_ function.
 *
 * Mirrors the default ZookeeperFactory. Threads: any sends requests, with the client's mutex held;
 * completions, watch and session events run on the library's completion thread, one at a time per
 * handle.
 *
 * NOTES: all requests are asynchronous, because a synchronous one has no timeout. All watches share
 * one function and one context: the library sends session events to each distinct pair and finds
 * the pairs by an O(n^2) scan. zoo_aremove_watches leaves the watch on the server, so we call
 * zoo_aremove_all_watches; but that removes the watches of others too, so not on a shared handle.
 */
#define THREADED /* for zoo_remove_watches () */

#include "zk/zk_real.h"
#include "base/fork_gate.h"
#include "base/lease_time.h"
#include "base/server_list.h"
#include "base/thread_start.h"
#include "base/threads.h"
#include "zk/io_lookups.h"
#include "zk/zk_servers.h"
#include "zk/zk_socket.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The threads of a handle. */
#define N_THREADS 2
/* How long to wait for the IO thread to enter poll: usually microseconds, longer on a busy machine.
 * The client's mutex is held while a handle is opened, not later. */
#define PATIENCE_OPENING_US 20000
#define PATIENCE_US         G_USEC_PER_SEC

static void
deliver (CuratorZkHandle *handle, zhandle_t *zh, int type, int state, const char *path)
{
  CURATOR_INSIDE_GATE;
  /* On every connect, because each connection has a new socket. Without a timeout the library
   * connects again as fast as it can: there is no session to hide. */
  if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE && zoo_recv_timeout (zh) > 0) {
    pthread_mutex_lock (&handle->opening);
    pthread_mutex_unlock (&handle->opening);
    curator_io_thread_hide (&handle->io, PATIENCE_US, zh);
    curator_zk_socket_connected (handle);
  }
  /* Nobody needs an event about a removed watch. */
  if (type != ZOO_NOTWATCHING_EVENT)
    handle->watcher (type, state, path, handle->context);
}

static void
on_event (zhandle_t *zh, int type, int state, const char *path, void *context)
{
  CuratorZkHandle *handle = context;

  curator_zk_rest_enter (&handle->rest);
  /* Not inside the gate: a fork() that has closed it may wait for this. */
  if (type == ZOO_SESSION_EVENT)
    curator_io_lookups_note_state (&handle->lookups, state);
  deliver (handle, zh, type, state, path);
  curator_zk_rest_leave (&handle->rest);
}

static void
complete (int rc, const CuratorZkReply *reply, const void *data)
{
  CuratorZkTicket *ticket = (CuratorZkTicket *) data;
  CuratorZkRest *rest = ticket->ops_rest;

  curator_zk_rest_enter (rest);
  ticket->completion (rc, reply, ticket);
  curator_zk_rest_leave (rest);
}

#define REPLY(...) (&(CuratorZkReply){ .failed_index = -1, __VA_ARGS__ })

static void
on_create (int rc, const char *value, const struct Stat *stat, const void *data)
{
  complete (rc, REPLY (.path = value, .stat = stat, .data_length = -1), data);
}

static void
on_void (int rc, const void *data)
{
  complete (rc, REPLY (.data_length = -1), data);
}

static void
on_data (int rc, const char *value, int length, const struct Stat *stat, const void *data)
{
  complete (rc, REPLY (.data = value, .data_length = length, .stat = stat), data);
}

static void
on_stat (int rc, const struct Stat *stat, const void *data)
{
  complete (rc, REPLY (.stat = stat, .data_length = -1), data);
}

/* libzookeeper passes on a list that it could not read. What it lacks is NULL, and may be nearly all
 * of it. It frees the list next and writes to each place: to none where nothing is. */
static gboolean
is_whole (struct String_vector *strings)
{
  const int32_t count = strings->count;

  for (int i = 0; i < strings->count; i++)
    if (strings->data[i] == NULL)
      strings->count = i;
  return count >= 0 && strings->count == count;
}

static void
on_strings (int rc, const struct String_vector *strings, const void *data)
{
  if (rc == ZOK && !is_whole ((struct String_vector *) strings))
    complete (ZDATAINCONSISTENCY, REPLY (.data_length = -1), data);
  else
    complete (rc, REPLY (.children = strings, .data_length = -1), data);
}

/* The operations of one multi, and their results. */
typedef struct
{
  int n;
  zoo_op_t *ops;
  zoo_op_result_t *results;
  char **paths;
} Multi;

static void
multi_free (gpointer data)
{
  Multi *multi = data;
  g_strfreev (multi->paths);
  g_free (multi->ops);
  g_free (multi->results);
  g_free (multi);
}

/* Operations before the failed one have ZOK, those after it a filler code. */
static void
on_multi (int rc, const void *data)
{
  const Multi *multi = ((const CuratorZkTicket *) data)->ops_data;
  int failed = -1;

  for (int i = 0; rc != ZOK && failed < 0 && i < multi->n; i++)
    failed = multi->results[i].err == rc ? i : -1;
  complete (rc, &(CuratorZkReply){ .data_length = -1, .failed_index = failed }, data);
}

static CuratorZkTicket *
begin_call (CuratorZkHandle *handle, CuratorZkTicket *ticket)
{
  if (handle->begin != NULL)
    return handle->begin (handle, ticket);
  ticket->ops_rest = &handle->rest;
  return ticket;
}

static int
undo_if_refused (CuratorZkHandle *handle, CuratorZkTicket *ticket, int rc)
{
  if (rc != ZOK && handle->refused != NULL)
    handle->refused (handle, ticket);
  return rc;
}

/* A request by the library's call. */
#define SEND(handle, ticket, call)                                                                 \
  ((ticket) = begin_call (handle, ticket), undo_if_refused (handle, ticket, call))

/* If it cannot create its threads, the library aborts the process. So this is tested first. */
static zhandle_t *
open_library (CuratorZkHandle *handle, const char *hosts, const clientid_t *id,
              int session_timeout_ms)
{
  char name[16];
  pid_t newest;
  const int failed = curator_threads_probe (N_THREADS, &newest);

  if (failed != 0) {
    errno = failed;
    return NULL;
  }
  curator_io_thread_prepare (&handle->io, name);
  curator_io_lookups_begin (&handle->lookups);
  zhandle_t *zh = zookeeper_init2 (hosts, on_event, session_timeout_ms, id, handle,
                                   ZOO_NO_LOG_CLIENTENV, curator_zk_servers_log_line);
  const int error = errno;
  if (zh != NULL)
    zoo_set_servers_resolution_delay (zh, -1);
  else
    curator_io_lookups_end (&handle->lookups);
  curator_io_thread_find (&handle->io, name, newest);
  errno = error;
  return zh;
}

static void
handle_free (CuratorZkHandle *handle)
{
  pthread_mutex_destroy (&handle->opening);
  g_free (handle->addresses);
  g_free (handle->next_addresses);
  g_free (handle);
}

CuratorZkHandle *
curator_zk_real_open (const char *hosts, const clientid_t *id, int session_timeout_ms,
                      CuratorZkWatcher watcher, gpointer context)
{
  CuratorZkHandle *handle = g_new0 (CuratorZkHandle, 1);
  sigset_t all;
  sigset_t mask;

  pthread_mutex_init (&handle->opening, NULL);
  handle->watcher = watcher;
  handle->context = context;
  handle->watch = on_event;
  handle->watch_context = handle;
  handle->socket.is_loopback = id != NULL;
  zoo_set_debug_level (ZOO_LOG_LEVEL_WARN);
  /* The library's threads inherit the mask, so they never handle the program's signals. */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &mask);
  pthread_mutex_lock (&handle->opening);
  handle->zh = open_library (handle, hosts, id, session_timeout_ms);
  const int error = errno;
  pthread_mutex_unlock (&handle->opening);
  pthread_sigmask (SIG_SETMASK, &mask, NULL);
  if (handle->zh == NULL) {
    handle_free (handle);
    errno = error;
    return NULL;
  }
  curator_io_thread_hide (&handle->io, PATIENCE_OPENING_US, NULL);
  curator_zk_servers_add (handle, hosts);
  /* From here on its failures are noted. */
  atomic_store (&handle->lookups.was_told, TRUE);
  curator_io_lookups_end_if_connected (&handle->lookups);
  return handle;
}

static CuratorZkHandle *
real_open (CuratorZkOps *ops, const char *hosts, int session_timeout_ms, CuratorZkWatcher watcher,
           gpointer context)
{
  return curator_zk_real_open (hosts, NULL, session_timeout_ms, watcher, context);
}

/* The IO thread ends in these states only. */
static gint64
real_rest_us (CuratorZkOps *ops, CuratorZkHandle *handle)
{
  return zoo_state (handle->zh) < 0 ? curator_zk_rest_left_us (&handle->rest) : 0;
}

void
curator_zk_real_close (CuratorZkOps *ops, CuratorZkHandle *handle)
{
  curator_zk_servers_remove (handle);
  /* Joins threads that may be waiting at the gate. */
  const guint depth = curator_gate_suspend ();
  curator_zk_rest_close (&handle->rest);
  zookeeper_close (handle->zh);
  curator_io_lookups_end (&handle->lookups);
  curator_gate_resume (depth);
  handle_free (handle);
}

static gint64
real_session_id (CuratorZkOps *ops, CuratorZkHandle *handle, int *timeout_ms)
{
  *timeout_ms = zoo_recv_timeout (handle->zh);
  return zoo_client_id (handle->zh)->client_id;
}

static char *
real_dup_server (CuratorZkOps *ops, CuratorZkHandle *handle, GPtrArray *servers)
{
  struct sockaddr_storage peer;
  socklen_t length = sizeof peer;

  if (zookeeper_get_connected_host (handle->zh, (struct sockaddr *) &peer, &length) == NULL)
    return NULL;
  const CuratorAddress address = curator_address_new (&peer, length);
  return servers != NULL ? curator_servers_dup_name_of (servers, &address)
                         : curator_address_write (&address);
}

static int
real_add_auth (CuratorZkOps *ops, CuratorZkHandle *handle, const char *scheme, const char *cert,
               int cert_length)
{
  return zoo_add_auth (handle->zh, scheme, cert, cert_length, NULL, NULL);
}

static int
real_create (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, const char *data,
             int length, const struct ACL_vector *acl, int mode, CuratorZkTicket *ticket)
{
  return SEND (handle, ticket,
               zoo_acreate2 (handle->zh, path, data, length, acl, mode, on_create, ticket));
}

static int
real_remove (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, int version,
             CuratorZkTicket *ticket)
{
  return SEND (handle, ticket, zoo_adelete (handle->zh, path, version, on_void, ticket));
}

static int
real_get (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, gboolean watch,
          CuratorZkTicket *ticket)
{
  return SEND (handle, ticket,
               zoo_awget (handle->zh, path, watch ? handle->watch : NULL, handle->watch_context,
                          on_data, ticket));
}

static int
real_exists (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, gboolean watch,
             CuratorZkTicket *ticket)
{
  return SEND (handle, ticket,
               zoo_awexists (handle->zh, path, watch ? handle->watch : NULL, handle->watch_context,
                             on_stat, ticket));
}

static int
real_get_children (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, gboolean watch,
                   CuratorZkTicket *ticket)
{
  return SEND (handle, ticket,
               zoo_awget_children (handle->zh, path, watch ? handle->watch : NULL,
                                   handle->watch_context, on_strings, ticket));
}

static int
real_set (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, const char *data,
          int length, int version, CuratorZkTicket *ticket)
{
  return SEND (handle, ticket, zoo_aset (handle->zh, path, data, length, version, on_stat, ticket));
}

/* zoo_amulti () is not called on a handle that has expired: it would free the path of the first
 * operation. */
static int
send_multi (CuratorZkHandle *handle, const char *const *paths, int n_paths,
            void (*init_op) (zoo_op_t *op, const char *path, int version), CuratorZkTicket *ticket)
{
  ticket = begin_call (handle, ticket);
  Multi *multi = g_new (Multi, 1);
  *multi = (Multi){ n_paths, g_new0 (zoo_op_t, n_paths), g_new0 (zoo_op_result_t, n_paths),
                    g_new0 (char *, n_paths + 1) };
  for (int i = 0; i < n_paths; i++) {
    multi->paths[i] = g_strdup (paths[i]);
    init_op (&multi->ops[i], multi->paths[i], -1);
  }
  ticket->ops_data = multi;
  ticket->ops_free = multi_free;
  return undo_if_refused (
      handle, ticket,
      zoo_state (handle->zh) < 0
          ? ZINVALIDSTATE
          : zoo_amulti (handle->zh, n_paths, multi->ops, multi->results, on_multi, ticket));
}

static int
real_check (CuratorZkOps *ops, CuratorZkHandle *handle, const char *const *paths, int n_paths,
            CuratorZkTicket *ticket)
{
  return send_multi (handle, paths, n_paths, zoo_check_op_init, ticket);
}

static int
real_remove_all (CuratorZkOps *ops, CuratorZkHandle *handle, const char *const *paths, int n_paths,
                 CuratorZkTicket *ticket)
{
  return send_multi (handle, paths, n_paths, zoo_delete_op_init, ticket);
}

static int
real_remove_all_watches (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path,
                         ZooWatcherType type, CuratorZkTicket *ticket)
{
  /* The header declares the completion as a pointer to the function type by mistake. On a shared
   * handle the server keeps the watch; its event is ignored. */
  void_completion_t *done = (void_completion_t *) on_void;
  return SEND (handle, ticket,
               handle->begin != NULL
                   ? zoo_aremove_watches (handle->zh, path, type, handle->watch,
                                          handle->watch_context, 0, done, ticket)
                   : zoo_aremove_all_watches (handle->zh, path, type, 0, done, ticket));
}

static void
real_forget_watches (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path,
                     ZooWatcherType type)
{
  /* A local removal waits for nothing. The asynchronous function would crash. */
  (void) zoo_remove_watches (handle->zh, path, type, handle->watch, handle->watch_context, 1);
}

static gint64
real_monotonic_us (CuratorZkOps *ops)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

static gint64
real_boottime_us (CuratorZkOps *ops)
{
  return curator_lease_time_us ();
}

static gint64
real_stepped_us (CuratorZkOps *ops)
{
  return curator_lease_time_stepped_us ();
}

static void
real_random (CuratorZkOps *ops, guint8 *bytes, gsize length)
{
  if (getrandom (bytes, length, 0) == (ssize_t) length)
    return;
  /* Interrupted by a signal, or forbidden by a system call filter: GLib finds another seed. */
  g_autoptr (GRand) generator = g_rand_new ();
  for (gsize i = 0; i < length; i++)
    bytes[i] = (guint8) g_rand_int_range (generator, 0, 256);
}

static void
real_wait (CuratorZkOps *ops, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
  pthread_cond_wait (cond, mutex);
}

static void
real_wake (CuratorZkOps *ops, pthread_cond_t *cond)
{
  pthread_cond_broadcast (cond);
}

static int
real_start_thread (CuratorZkOps *ops, const char *name, void *(*run) (void *), void *data)
{
  return curator_thread_start_detached (name, run, data);
}

CuratorZkOps *
curator_zk_ops_real (void)
{
  static CuratorZkOps ops = {
    .open = real_open,
    .rest_us = real_rest_us,
    .close = curator_zk_real_close,
    .session_id = real_session_id,
    .dup_server = real_dup_server,
    .add_auth = real_add_auth,
    .bound_silence = curator_zk_bound_silence,
    .end_attempt = curator_zk_end_attempt,
    .set_servers = curator_zk_servers_set,
    .create = real_create,
    .remove = real_remove,
    .get = real_get,
    .exists = real_exists,
    .get_children = real_get_children,
    .set = real_set,
    .check = real_check,
    .remove_all = real_remove_all,
    .remove_all_watches = real_remove_all_watches,
    .forget_watches = real_forget_watches,
    .clocks.monotonic_us = real_monotonic_us,
    .clocks.boottime_us = real_boottime_us,
    .clocks.stepped_us = real_stepped_us,
    .random = real_random,
    .wait = real_wait,
    .wake = real_wake,
    .start_thread = real_start_thread,
    .threads = TRUE,
  };
  return &ops;
}
