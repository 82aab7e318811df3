/* The version of the library at run time.
 *
 * Threads: any; constant.
 */
#include "curator/version.h"

const char *
curator_get_version (void)
{
  return G_STRINGIFY (CURATOR_MAJOR_VERSION) "." G_STRINGIFY (
      CURATOR_MINOR_VERSION) "." G_STRINGIFY (CURATOR_MICRO_VERSION) CURATOR_VERSION_SUFFIX;
}
