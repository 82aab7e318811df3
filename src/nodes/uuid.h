/* Random UUIDs, by which a client recognizes its own nodes. */
#pragma once

#include "core/client-record.h"

#define CURATOR_UUID_SIZE (36 + 1)

/* A version 4 UUID in lower case. */
void curator_uuid_write (CuratorClient *client, char uuid[CURATOR_UUID_SIZE]) CURATOR_LOCKED;
