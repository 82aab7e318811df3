/* The error domains.
 *
 * Threads: any; GLib guards the quarks.
 */
#include "curator/error.h"

G_DEFINE_QUARK (curator - error - quark, curator_error)
G_DEFINE_QUARK (curator - zk - error - quark, curator_zk_error)
