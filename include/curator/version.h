#ifndef CURATOR_VERSION_H
#define CURATOR_VERSION_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** Version of the headers that a program is compiled with: major.minor.micro and
 *  #CURATOR_VERSION_SUFFIX. */
#define CURATOR_MAJOR_VERSION 1
/** See #CURATOR_MAJOR_VERSION. */
#define CURATOR_MINOR_VERSION 0
/** See #CURATOR_MAJOR_VERSION. */
#define CURATOR_MICRO_VERSION 0
/** "" in a release. A version that precedes one says it here, for example "-rc.2", as Semantic
 *  Versioning writes it. */
#define CURATOR_VERSION_SUFFIX "-rc.2"

/** Whether the headers are of that version or a later one; also for the preprocessor. What precedes
 *  a release counts as that release. */
#define CURATOR_CHECK_VERSION(major, minor, micro)                                                 \
  (CURATOR_MAJOR_VERSION > (major)                                                                 \
   || (CURATOR_MAJOR_VERSION == (major) && CURATOR_MINOR_VERSION > (minor))                        \
   || (CURATOR_MAJOR_VERSION == (major) && CURATOR_MINOR_VERSION == (minor)                        \
       && CURATOR_MICRO_VERSION >= (micro)))

/** Version of the library linked at run time, for example "1.0.0-rc.2". Static storage. */
CURATOR_API
const char *curator_get_version (void);

G_END_DECLS

#endif
