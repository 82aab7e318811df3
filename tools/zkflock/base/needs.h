#pragma once

#include <glib.h>

/* Descriptors and memory are tried, and given back. Prints what is missing. Before the first
 * thread. */
gboolean needs_are_met (const char *path);
