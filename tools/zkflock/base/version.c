/* Prints the versions of this program and of its libraries, for -V. */
#include "base/version.h"

#include <curator/curator.h>
#include <zookeeper/zookeeper_version.h>

static const char *
yes_or_no (gboolean is_built_in)
{
  return is_built_in ? "yes" : "no";
}

void
print_versions (void)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (CuratorClient) client = curator_client_new ("localhost", NULL);

  g_print ("zkflock %d.%d.%d, libcurator %s, TLS: %s, SASL: %s\n", CURATOR_MAJOR_VERSION,
           CURATOR_MINOR_VERSION, CURATOR_MICRO_VERSION, curator_get_version (),
           yes_or_no (curator_client_set_tls (client, tls, NULL)),
           yes_or_no (curator_client_set_sasl_gssapi (client, NULL, NULL, NULL)));
  g_print ("libzookeeper %s (built against)\n", ZOO_VERSION);
}
