#ifndef CURATOR_VERSION_H
#define CURATOR_VERSION_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Version of the headers that a program is compiled with: major.minor.micro. */
#define CURATOR_MAJOR_VERSION 0
/** See #CURATOR_MAJOR_VERSION. */
#define CURATOR_MINOR_VERSION 2
/** See #CURATOR_MAJOR_VERSION. */
#define CURATOR_MICRO_VERSION 0

/** Version of the library linked at run time, for example "0.2.0". Static storage. */
CURATOR_API
const char *curator_get_version (void);

G_END_DECLS

#endif
