#include "base/version.h"

#include <curator/curator.h>
#include <dlfcn.h>
#include <zookeeper/zookeeper.h>
#include <zookeeper/zookeeper_version.h>

/* The symbols of the loaded library show which features it was built with. */
static const char *
built_in (const char *symbol)
{
  return dlsym (RTLD_DEFAULT, symbol) != NULL ? "yes" : "no";
}

void
print_versions (void)
{
  g_print ("zkflock %d.%d.%d, libcurator %s\n", CURATOR_MAJOR_VERSION, CURATOR_MINOR_VERSION,
           CURATOR_MICRO_VERSION, curator_get_version ());
  g_print ("libzookeeper %s (built against), TLS: %s, SASL: %s\n", ZOO_VERSION,
           built_in ("zookeeper_init_ssl"), built_in ("zookeeper_init_sasl"));
}
