/* This host's address, which is the payload of lock nodes if the program sets none.
 *
 * Guarded by the client's mutex. */
#pragma once

#include "core/client-record.h"

/* The payload until the address is known, and where there is none. */
GBytes *curator_host_name (void);
/* For start. Looks the address up on a thread of its own if default_data stands for it, and calls
 * found (may be NULL), with the mutex held, when that has ended. */
void curator_host_address_look_up (CuratorClient *client,
                                   void (*found) (CuratorClient *client)) CURATOR_LOCKED;
