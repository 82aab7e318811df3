/* Names of the public states. Mirrors Enum.name().
 *
 * Threads: any; no lock.
 */
#include "curator/client.h"
#include "curator/lease.h"

const char *
curator_connection_state_to_string (CuratorConnectionState state)
{
  switch (state)
    {
    case CURATOR_STATE_CONNECTED:
      return "CONNECTED";
    case CURATOR_STATE_SUSPENDED:
      return "SUSPENDED";
    case CURATOR_STATE_RECONNECTED:
      return "RECONNECTED";
    case CURATOR_STATE_LOST:
      return "LOST";
    case CURATOR_STATE_READ_ONLY:
      return "READ_ONLY";
    default:
      return "UNKNOWN";
    }
}

const char *
curator_lease_state_to_string (CuratorLeaseState state)
{
  switch (state)
    {
    case CURATOR_LEASE_HELD:
      return "HELD";
    case CURATOR_LEASE_SUSPECT:
      return "SUSPECT";
    case CURATOR_LEASE_LOST:
      return "LOST";
    case CURATOR_LEASE_RELEASED:
      return "RELEASED";
    default:
      return "UNKNOWN";
    }
}
