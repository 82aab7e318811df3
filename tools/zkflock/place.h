#pragma once

#include "base/options.h"

#include <curator/curator.h>

typedef struct _Place Place;

/* NULL if there is nothing to report to. */
Place *place_start (const Options *options, CuratorClient *client);
/* Nothing is known until the next answer. place may be NULL. */
void place_forget (Place *place);
void place_stop (Place *place); /* place may be NULL */
