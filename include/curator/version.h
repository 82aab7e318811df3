#ifndef CURATOR_VERSION_H
#define CURATOR_VERSION_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Version of the headers that a program is compiled with: major.minor.micro. */
#define CURATOR_MAJOR_VERSION 0
/** See #CURATOR_MAJOR_VERSION. */
#define CURATOR_MINOR_VERSION 3
/** See #CURATOR_MAJOR_VERSION. */
#define CURATOR_MICRO_VERSION 0

/** Whether the headers are of that version or a later one; also for the preprocessor. */
#define CURATOR_CHECK_VERSION(major, minor, micro)                                                 \
  (CURATOR_MAJOR_VERSION > (major)                                                                 \
   || (CURATOR_MAJOR_VERSION == (major) && CURATOR_MINOR_VERSION > (minor))                        \
   || (CURATOR_MAJOR_VERSION == (major) && CURATOR_MINOR_VERSION == (minor)                        \
       && CURATOR_MICRO_VERSION >= (micro)))

/** Version of the library linked at run time, for example "0.3.0". Static storage. */
CURATOR_API
const char *curator_get_version (void);

G_END_DECLS

#endif
