/* Whose thread the calling one is, and which client it serves.
 *
 * A function of the user's may block, so it runs on the user's threads and on the lanes of
 * callbacks only. A thread that serves a client does not wait for the end of one: two of them could
 * wait for each other. Threads: any; each sees its own role, no lock.
 */
#pragma once

#include "curator/types.h"

#include <glib.h>

typedef struct
{
  CuratorClient *client; /* NULL: serves none */
  gboolean is_ours;      /* no function of the user's may run here */
} CuratorThreadRole;

CuratorThreadRole curator_thread_role (void);
/* Enclose our code on a thread of libzookeeper's, and on one of ours. change returns the role that
 * restore takes. */
CuratorThreadRole curator_thread_change_role (CuratorClient *client, gboolean is_ours);
void curator_thread_restore_role (CuratorThreadRole before);
