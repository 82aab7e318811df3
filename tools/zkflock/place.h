/* The place in the queue, for systemd and for --verbose. Costs reads, so only where it is asked. */
#ifndef ZKFLOCK_PLACE_H
#define ZKFLOCK_PLACE_H

#include "options.h"

#include <curator/curator.h>

typedef struct _Place Place;

/* NULL if nobody wants to know. */
Place *place_start (const Options *options, CuratorClient *client);
void place_stop (Place *place); /* NULL is fine */

#endif
