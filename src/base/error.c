/* The error domains, where Java has exception classes.
 *
 * Threads: any; no lock. The numbers are looked up while the library is loaded: a look-up takes a
 * lock of GLib's, which the child of a fork() may have inherited locked.
 */
#include "curator/error.h"
#include "curator/tls.h"

/* clang-format would take the names for subtractions. */
/* clang-format off */
G_DEFINE_QUARK (curator-error-quark, curator_error)
G_DEFINE_QUARK (curator-zk-error-quark, curator_zk_error)
G_DEFINE_QUARK (curator-connect-error-quark, curator_connect_error)
/* clang-format on */

__attribute__ ((constructor)) static void
look_up_quarks (void)
{
  curator_error_quark ();
  curator_zk_error_quark ();
  curator_connect_error_quark ();
}
