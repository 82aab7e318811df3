/* The error domains, where Java has exception classes.
 *
 * Threads: any; no lock. G_DEFINE_QUARK would cache the number in a way that ThreadSanitizer
 * reports; errors are rare enough to look it up.
 */
#include "curator/error.h"

GQuark
curator_error_quark (void)
{
  return g_quark_from_static_string ("curator-error-quark");
}

GQuark
curator_zk_error_quark (void)
{
  return g_quark_from_static_string ("curator-zk-error-quark");
}
