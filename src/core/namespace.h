/* The prefix of every path of a client: its chroot and its namespace. */
#pragma once

#include "curator/client.h"

/* After a change of the connect string or of the namespace; before start, on one thread. */
void curator_namespace_update (CuratorClient *client);

/* From the user's path to the path on the server, and back. After start, any thread. */
char *curator_client_full_path (CuratorClient *client, const char *path);
const char *curator_client_user_path (CuratorClient *client, const char *full_path);
