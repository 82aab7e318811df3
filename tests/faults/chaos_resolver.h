/* The resolver of a worker, in place of the C library's: what its driver says where the names of
 * chaos_name() are. Other names are the C library's. connect () is replaced, too, and counts what
 * goes to the absent host. */
#ifndef CURATOR_TEST_CHAOS_RESOLVER_H
#define CURATOR_TEST_CHAOS_RESOLVER_H

#include "chaos.h"

/* Before the first look-up. FALSE if the file cannot be mapped. */
gboolean chaos_resolver_begin (const char *path);

#endif
