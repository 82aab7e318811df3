/* Names of the public states. Mirrors Enum.name().
 *
 * Threads: any; no lock.
 */
#include "curator/client.h"
#include "curator/lease.h"

const char *
curator_connection_state_to_string (CuratorConnectionState state)
{
  static const char *const names[] = { [CURATOR_CONNECTION_STATE_CONNECTED] = "CONNECTED",
                                       [CURATOR_CONNECTION_STATE_SUSPENDED] = "SUSPENDED",
                                       [CURATOR_CONNECTION_STATE_RECONNECTED] = "RECONNECTED",
                                       [CURATOR_CONNECTION_STATE_LOST] = "LOST",
                                       [CURATOR_CONNECTION_STATE_READ_ONLY] = "READ_ONLY" };
  return (guint) state < G_N_ELEMENTS (names) ? names[state] : "UNKNOWN";
}

const char *
curator_lease_state_to_string (CuratorLeaseState state)
{
  static const char *const names[] = { [CURATOR_LEASE_STATE_HELD] = "HELD",
                                       [CURATOR_LEASE_STATE_SUSPECT] = "SUSPECT",
                                       [CURATOR_LEASE_STATE_LOST] = "LOST",
                                       [CURATOR_LEASE_STATE_RELEASED] = "RELEASED" };
  return (guint) state < G_N_ELEMENTS (names) ? names[state] : "UNKNOWN";
}

const char *
curator_lost_reason_to_string (CuratorLostReason reason)
{
  static const char *const names[] = {
    [CURATOR_LOST_REASON_NONE] = "NONE",     [CURATOR_LOST_REASON_SESSION] = "SESSION",
    [CURATOR_LOST_REASON_CLOCK] = "CLOCK",   [CURATOR_LOST_REASON_DELETED] = "DELETED",
    [CURATOR_LOST_REASON_CLOSED] = "CLOSED", [CURATOR_LOST_REASON_MAX_HOLD] = "MAX_HOLD"
  };
  return (guint) reason < G_N_ELEMENTS (names) ? names[reason] : "UNKNOWN";
}
