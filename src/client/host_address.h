/* This host's address, which is the payload of lock nodes if the program sets none.
 *
 * Guarded by the client's mutex. */
#pragma once

#include "core/client-record.h"

/* For start. Looks the address up on a thread of its own if default_data stands for it. A session
 * that waits for that is then opened. */
void curator_host_address_look_up (CuratorClient *client) CURATOR_LOCKED;
