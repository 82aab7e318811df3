#ifndef CURATOR_VISIBILITY_H
#define CURATOR_VISIBILITY_H

#include <glib.h>

/** Marks what the shared library exports; everything else in it is hidden. */
#if defined(__GNUC__)
#define CURATOR_API __attribute__ ((visibility ("default")))
#else
#define CURATOR_API
#endif

#endif
