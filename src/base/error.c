/* The error domains, where Java has exception classes.
 *
 * Threads: any; no lock. The numbers are looked up while the library is loaded: a look-up takes a
 * lock of GLib's, which the child of a fork() may have inherited locked.
 */
#include "curator/error.h"
#include "curator/tls.h"

static GQuark error_quark;
static GQuark zk_error_quark;
static GQuark connect_error_quark;

__attribute__ ((constructor)) static void
look_up_quarks (void)
{
  error_quark = g_quark_from_static_string ("curator-error-quark");
  zk_error_quark = g_quark_from_static_string ("curator-zk-error-quark");
  connect_error_quark = g_quark_from_static_string ("curator-connect-error-quark");
}

GQuark
curator_error_quark (void)
{
  return error_quark;
}

GQuark
curator_zk_error_quark (void)
{
  return zk_error_quark;
}

GQuark
curator_connect_error_quark (void)
{
  return connect_error_quark;
}
