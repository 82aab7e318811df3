/* The ops table that the library under test stands on.
 *
 * Called by any thread that has the baton, usually with the client's mutex held. No call delivers
 * anything; only close() passes the baton on.
 */
#include "sim-private.h"

#include <errno.h>
#include <string.h>

static SimProcess *
process_of (CuratorZkOps *ops)
{
  return (SimProcess *) ops;
}

/* --- the handle's life ------------------------------------------------------------------------ */

static CuratorZkHandle *
op_open (CuratorZkOps *ops, const char *hosts, int session_timeout_ms, CuratorZkWatcher watcher,
         gpointer context)
{
  SimProcess *process = process_of (ops);
  SimWorld *world = process->world;
  CuratorZkHandle *handle;

  if (hosts == NULL || hosts[0] == '\0') {
    errno = EINVAL;
    return NULL;
  }
  if (!world->healing && sim_chance (world, world->config.p_open_fails)) {
    sim_trace (world, "%s: no handle can be opened", process->name);
    errno = ENOMEM;
    return NULL;
  }
  handle = sim_handle_new (process, (gint64) session_timeout_ms * 1000, watcher, context);
  sim_trace (world, "%s/%d: opened", process->name, handle->id);
  return handle;
}

/* The server answers the close, or times out. */
static void
say_goodbye (SimWorld *world, CuratorZkHandle *handle)
{
  SimRequest *request = sim_request_new (SIM_OP_CLOSE, "");
  gint64 deadline = world->now + (sim_chance (world, 0.5) ? 1500 : 4500) * 1000;

  request->serial = world->next_serial++;
  g_queue_push_tail (&handle->pending, request);
  sim_conn_send (world, handle->conn, request);
  /* If there is no time to wait for the server, it still receives all pending requests. */
  for (GList *l = handle->conn->requests.head; l != NULL && world->running == NULL; l = l->next)
    ((SimRequest *) l->data)->arrives_at = MIN (((SimRequest *) l->data)->arrives_at, world->now);
  while (world->running != NULL && !handle->close_done && handle->conn != NULL
         && world->now < deadline)
    sim_cond_wait (world, handle, deadline);
}

/* Some requests in flight complete with ZCLOSING, the others never complete. */
static void
tell_closing (SimWorld *world, CuratorZkHandle *handle)
{
  gint64 deadline = world->now + 1500 * 1000;
  guint n = handle->pending.length;

  sim_handle_fail_pending (handle, ZCLOSING, FALSE, n == 0 ? 0 : sim_rand_below (world, n + 1));
  while (world->running != NULL && !g_queue_is_empty (&handle->inbox) && world->now < deadline)
    sim_cond_wait (world, handle, deadline);
  while (world->running == NULL && !handle->delivering && !g_queue_is_empty (&handle->inbox))
    sim_handle_deliver (handle);
}

static void
op_close (CuratorZkOps *ops, CuratorZkHandle *handle)
{
  SimProcess *process = process_of (ops);
  SimWorld *world = process->world;

  sim_trace (world, "%s/%d: close", process->name, handle->id);
  handle->closing = TRUE;
  handle->mute = sim_chance (world, 0.3);
  if (handle->state == SIM_HANDLE_CONNECTED && handle->conn != NULL)
    say_goodbye (world, handle);
  sim_net_abandon (world, handle);
  handle->attempt_at = SIM_NEVER;
  tell_closing (world, handle);
  sim_trace (world, "%s/%d: closed", process->name, handle->id);
  g_assert (!handle->delivering);
  g_ptr_array_remove (world->handles, handle);
}

static gint64
op_session_id (CuratorZkOps *ops, CuratorZkHandle *handle, int *timeout_ms)
{
  *timeout_ms = (int) (handle->timeout_us / 1000);
  return handle->session == NULL ? 0 : handle->session->id;
}

static int
op_add_auth (CuratorZkOps *ops, CuratorZkHandle *handle, const char *scheme, const char *cert,
             int cert_length)
{
  handle->bad_auth =
      handle->bad_auth || (strcmp (scheme, "digest") != 0 && strcmp (scheme, "ip") != 0);
  return ZOK;
}

/* --- requests --------------------------------------------------------------------------------- */

static gboolean
is_valid_path (const char *path)
{
  gsize length = path == NULL ? 0 : strlen (path);

  return length > 0 && path[0] == '/' && (length == 1 || path[length - 1] != '/')
         && strstr (path, "//") == NULL;
}

static guint
kinds_of_type (int type)
{
  return type == ZWATCHTYPE_CHILD ? SIM_WATCH_CHILD : SIM_WATCH_DATA | SIM_WATCH_EXIST;
}

/* A watch counts only once its answer has arrived. */
static gboolean
is_watching (CuratorZkHandle *handle, SimRequest *request)
{
  SimWatch *watch = sim_handle_watch (handle, request->path);
  return watch != NULL && (watch->kinds & kinds_of_type (request->number)) != 0;
}

static int
why_not (CuratorZkHandle *handle, SimRequest *request, gboolean *lost)
{
  SimWorld *world = handle->world;
  SimScript *script = sim_script_match (world, handle->process, request->op, TRUE);

  if (script != NULL)
    return script->rc;
  if (handle->closing)
    return ZMARSHALLINGERROR;
  if (handle->state == SIM_HANDLE_DEAD) {
    /* A request submitted while the library is noticing the end of the session is accepted and
       * never completed. */
    *lost = !handle->dead_told && sim_chance (world, 0.5);
    return *lost ? ZOK : ZINVALIDSTATE;
  }
  if (!is_valid_path (request->path))
    return ZBADARGUMENTS;
  if (request->op == SIM_OP_UNWATCH && !is_watching (handle, request))
    return ZNOWATCHER;
  if (!world->healing && sim_chance (world, world->config.p_not_taken))
    return ZMARSHALLINGERROR;
  return ZOK;
}

static int
submit (CuratorZkHandle *handle, SimRequest *request, CuratorZkTicket *ticket)
{
  SimWorld *world = handle->world;
  gboolean lost = FALSE;

  request->serial = world->next_serial++;
  ticket->ops_data = NULL;
  ticket->ops_free = NULL;
  handle->process->n_requests[request->op]++;
  int rc = why_not (handle, request, &lost);
  sim_trace (world, "%s/%d: #%u %s %s%s -> %d%s", handle->process->name, handle->id,
             request->serial, sim_op_name (request->op), request->path,
             request->watch ? " watch" : "", rc, lost ? ", lost" : "");
  if (rc != ZOK || lost) {
    sim_request_unref (request);
    return rc;
  }
  request->ticket = ticket;
  request->script = sim_script_match (world, handle->process, request->op, FALSE);
  g_queue_push_tail (&handle->pending, request);
  if (handle->state == SIM_HANDLE_CONNECTED)
    sim_conn_send (world, handle->conn, request);
  return ZOK;
}

static int
op_create (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, const char *data,
           int length, const struct ACL_vector *acl, int mode, CuratorZkTicket *ticket)
{
  SimRequest *request = sim_request_new (SIM_OP_CREATE, path);

  g_assert (acl != NULL && acl->count > 0);
  request->data = g_bytes_new (data, (gsize) length);
  request->number = mode;
  return submit (handle, request, ticket);
}

static int
op_remove (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, int version,
           CuratorZkTicket *ticket)
{
  SimRequest *request = sim_request_new (SIM_OP_REMOVE, path);

  request->number = version;
  return submit (handle, request, ticket);
}

static int
submit_read (CuratorZkHandle *handle, SimOp op, const char *path, gboolean watch,
             CuratorZkTicket *ticket)
{
  SimRequest *request = sim_request_new (op, path);

  request->watch = watch;
  return submit (handle, request, ticket);
}

#define READ(function, op)                                                                         \
  static int function (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path,               \
                       gboolean watch, CuratorZkTicket *ticket)                                    \
  {                                                                                                \
    return submit_read (handle, op, path, watch, ticket);                                          \
  }

READ (op_get, SIM_OP_GET)
READ (op_exists, SIM_OP_EXISTS)
READ (op_get_children, SIM_OP_CHILDREN)

static int
op_set (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path, const char *data, int length,
        int version, CuratorZkTicket *ticket)
{
  SimRequest *request = sim_request_new (SIM_OP_SET, path);

  request->data = g_bytes_new (data, (gsize) length);
  request->number = version;
  return submit (handle, request, ticket);
}

int
sim_ops_sync (CuratorZkHandle *handle, const char *path, CuratorZkTicket *ticket)
{
  return submit_read (handle, SIM_OP_SYNC, path, FALSE, ticket);
}

/* The real library allocates the results of a multi, so the simulator does too: a leak of them must
 * show. */
static int
submit_multi (CuratorZkHandle *handle, SimOp op, const char *const *paths, int n_paths,
              CuratorZkTicket *ticket)
{
  SimRequest *request = sim_request_new (op, paths[0]);

  request->paths = g_new0 (char *, n_paths + 1);
  for (int i = 0; i < n_paths; i++)
    request->paths[i] = g_strdup (paths[i]);
  int rc = submit (handle, request, ticket);
  if (rc == ZOK) {
    ticket->ops_data = g_malloc0 ((gsize) n_paths);
    ticket->ops_free = g_free;
  }
  return rc;
}

static int
op_check (CuratorZkOps *ops, CuratorZkHandle *handle, const char *const *paths, int n_paths,
          CuratorZkTicket *ticket)
{
  return submit_multi (handle, SIM_OP_CHECK, paths, n_paths, ticket);
}

static int
op_remove_all (CuratorZkOps *ops, CuratorZkHandle *handle, const char *const *paths, int n_paths,
               CuratorZkTicket *ticket)
{
  return submit_multi (handle, SIM_OP_REMOVE_ALL, paths, n_paths, ticket);
}

static int
op_remove_all_watches (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path,
                       ZooWatcherType type, CuratorZkTicket *ticket)
{
  SimRequest *request = sim_request_new (SIM_OP_UNWATCH, path);

  request->number = (int) type;
  return submit (handle, request, ticket);
}

static void
op_forget_watches (CuratorZkOps *ops, CuratorZkHandle *handle, const char *path,
                   ZooWatcherType type)
{
  sim_handle_take_watch (handle, path, kinds_of_type (type));
}

/* --- clocks ----------------------------------------------------------------------------------- */

/* The clocks are far apart, so that mixing them up fails. */
#define BOOTTIME_AHEAD_US (G_GINT64_CONSTANT (86400) * G_USEC_PER_SEC)
#define REALTIME_AHEAD_US (G_GINT64_CONSTANT (1700000000) * G_USEC_PER_SEC)

static gint64
op_monotonic_us (CuratorZkOps *ops)
{
  SimProcess *process = process_of (ops);

  process->n_readings += process->world->is_asking ? 0 : 1;
  return process->world->now - process->suspended_us;
}

static gint64
read_clock (clockid_t clock, gpointer data)
{
  const SimProcess *process = data;
  const gint64 now = process->world->now;

  return clock == CLOCK_BOOTTIME
             ? now - process->stopped_us + BOOTTIME_AHEAD_US
             : now + process->wall_set_us + REALTIME_AHEAD_US
                   + (now - process->slewed_from_us) * process->wall_ppm / 1000000;
}

static gint64
op_boottime_us (CuratorZkOps *ops)
{
  SimProcess *process = process_of (ops);

  process->n_readings += process->world->is_asking ? 0 : 1;
  return curator_lease_time_read (&process->lease_time, read_clock, process);
}

static gint64
op_stepped_us (CuratorZkOps *ops)
{
  return curator_lease_time_stepped (&process_of (ops)->lease_time);
}

/* UUIDs come from the seed as well. */
static void
op_random (CuratorZkOps *ops, guint8 *bytes, gsize length)
{
  for (gsize i = 0; i < length; i++)
    bytes[i] = (guint8) g_random_int_range (0, 256);
}

void
sim_ops_fill (CuratorZkOps *ops)
{
  *ops = (CuratorZkOps){ .open = op_open,
                         .close = op_close,
                         .session_id = op_session_id,
                         .add_auth = op_add_auth,
                         .create = op_create,
                         .remove = op_remove,
                         .get = op_get,
                         .exists = op_exists,
                         .get_children = op_get_children,
                         .set = op_set,
                         .check = op_check,
                         .remove_all = op_remove_all,
                         .remove_all_watches = op_remove_all_watches,
                         .forget_watches = op_forget_watches,
                         .clocks.monotonic_us = op_monotonic_us,
                         .clocks.boottime_us = op_boottime_us,
                         .clocks.stepped_us = op_stepped_us,
                         .random = op_random,
                         .wait = sim_ops_wait,
                         .wake = sim_ops_wake,
                         .start_thread = sim_ops_start_thread };
}
