/* A host that answers every connection with bytes that are no good: cut off, grown, of negative
 * length, noise, nothing. None is a whole greeting: in clear text a client has to believe that. */
#pragma once

#include <glib.h>

typedef struct _ChaosHostile ChaosHostile;

ChaosHostile *chaos_hostile_new (guint32 seed);
void chaos_hostile_free (ChaosHostile *hostile);

guint32 chaos_hostile_host (ChaosHostile *hostile); /* IPv4, big-endian */
/* It listens on that port, too. Call all of these before any client knows the host. */
void chaos_hostile_listen (ChaosHostile *hostile, int port);
void chaos_hostile_start (ChaosHostile *hostile);
/* How many connections it has answered, since the last call. */
guint chaos_hostile_served (ChaosHostile *hostile);
