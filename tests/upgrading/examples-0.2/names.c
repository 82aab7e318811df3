/* Each name of 0.2 that is another in 1.0, wherever C has names. */
#include <curator/curator.h>

#define GONE CURATOR_STATE_LOST

typedef struct
{
  CuratorAcquireCallback acquired;
  CuratorReleaseCallback released;
} Callbacks;

static const char *const states[] = {
  [CURATOR_STATE_CONNECTED] = "connected", [CURATOR_STATE_RECONNECTED] = "again"
};

static const CuratorCreateMode modes[] = { CURATOR_CREATE_EPHEMERAL,
                                           CURATOR_CREATE_EPHEMERAL_SEQUENTIAL,
                                           CURATOR_CREATE_PERSISTENT,
                                           CURATOR_CREATE_PERSISTENT_SEQUENTIAL };

static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer user_data)
{
  switch (state) {
  case CURATOR_STATE_SUSPENDED:
  case CURATOR_STATE_READ_ONLY:
    break;
  default:
    if (state != GONE && state != CURATOR_STATE_LOST)
      g_debug ("%s", states[state]);
  }
}

static gboolean
is_good (CuratorTraceKind kind)
{
  return kind == CURATOR_TRACE_GRANTED || kind == CURATOR_TRACE_HEARTBEAT
         || kind == CURATOR_TRACE_RELEASED
         || !(kind == CURATOR_TRACE_FAILED || kind == CURATOR_TRACE_LOST);
}

static int
code_of (CuratorLease *lease, const CuratorParticipant *one, CuratorLeaderLatch *latch)
{
  static const CuratorParticipantKind kinds[] = { CURATOR_PARTICIPANT_MUTEX, CURATOR_PARTICIPANT_READ,
                                                  CURATOR_PARTICIPANT_WRITE, CURATOR_PARTICIPANT_TURN,
                                                  CURATOR_PARTICIPANT_LEASE, CURATOR_PARTICIPANT_LATCH,
                                                  CURATOR_PARTICIPANT_OTHER };

  curator_leader_latch_close (latch, one == NULL ? CURATOR_LEADER_LATCH_SILENT
                                                 : CURATOR_LEADER_LATCH_NOTIFY_LEADER);
  switch (curator_lease_get_state (lease)) {
  case CURATOR_LEASE_HELD:
  case CURATOR_LEASE_SUSPECT:
    return (int) kinds[0];
  case CURATOR_LEASE_LOST:
    return 1;
  case CURATOR_LEASE_RELEASED:
  default:
    return 2;
  }
}

static void
name_the_node (CuratorLockDriver *driver, CuratorNodeRequest *request, gpointer user_data)
{
  curator_node_request_set_mode (request, modes[GPOINTER_TO_INT (user_data)]);
}

CuratorLock *names (CuratorClient *client, CuratorRwLock *pair, const Callbacks *callbacks,
                    GCancellable *cancellable, gpointer user_data);

CuratorLock *
names (CuratorClient *client, CuratorRwLock *pair, const Callbacks *callbacks,
       GCancellable *cancellable, gpointer user_data)
{
  void (*name) (CuratorLockDriver *, CuratorNodeRequest *, gpointer) = name_the_node;
  name (NULL, NULL, NULL);
  code_of (NULL, NULL, NULL);
  curator_client_add_state_listener (client, on_state, NULL, NULL);
  g_debug ("%d %d", (int) curator_client_get_session_timeout (client),
           is_good (CURATOR_TRACE_GRANTED));
  CuratorLock *writer = curator_rw_lock_write_lock (pair);
  curator_lock_acquire_async (writer, 0, cancellable, callbacks->acquired, user_data);
  curator_lock_release_async (writer, callbacks->released, user_data);
  return curator_rw_lock_read_lock (pair);
}
