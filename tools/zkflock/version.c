#include "version.h"

#include <curator/curator.h>
#include <dlfcn.h>
#include <zookeeper/zookeeper.h>
#include <zookeeper/zookeeper_version.h>

/* The library that was loaded says by its symbols what it was built with. */
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
