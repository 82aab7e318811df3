#ifndef CURATOR_VISIBILITY_H
#define CURATOR_VISIBILITY_H

#include <glib.h>

/** Marks a function that the shared library exports; all others are hidden. */
#if defined(__GNUC__)
#define CURATOR_API __attribute__ ((visibility ("default")))
#else
#define CURATOR_API
#endif

#endif
