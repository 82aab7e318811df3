/* Whose thread the calling one is, and which client it serves. Curator has no counterpart.
 *
 * Threads: any; each sees its own role, no lock.
 */
#include "base/thread_role.h"

static _Thread_local CuratorThreadRole role; /* a user's thread, until it is changed */

CuratorThreadRole
curator_thread_role (void)
{
  return role;
}

CuratorThreadRole
curator_thread_change_role (CuratorClient *client, gboolean is_ours)
{
  const CuratorThreadRole before = role;
  role = (CuratorThreadRole){ client, is_ours };
  return before;
}

void
curator_thread_restore_role (CuratorThreadRole before)
{
  role = before;
}
