/* Shared by the files behind curator/testing.h. */
#pragma once

#include "curator/testing.h"

#define TESTING_START_MS      60000
#define TESTING_TICK_MS       500
#define TESTING_EXPIRE_MS     60000
#define TESTING_CLUSTER_COUNT 3

/* FALSE with MISSING or FAILED unless servers can be started here. */
gboolean testing_check_machine (GError **error);
/* Sets FAILED. */
void testing_fail (GError **error, const char *sentence);
