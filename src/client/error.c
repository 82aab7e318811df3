/* The error domains.
 *
 * Threads: any. Not by G_DEFINE_QUARK, whose cache is written without an order that
 * ThreadSanitizer could see; errors are rare enough to look the number up.
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
