/* The error domains.
 *
 * Threads: any; GLib guards the quarks.
 */
#include "curator/error.h"

/* It would take the hyphens for minus signs. */
/* clang-format off */
G_DEFINE_QUARK (curator-error-quark, curator_error)
G_DEFINE_QUARK (curator-zk-error-quark, curator_zk_error)
/* clang-format on */
