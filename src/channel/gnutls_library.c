/* Loads GnuTLS; see gnutls_library.h. Threads: any, under the mutex of this file.
 *
 * NOTES: it is never unloaded: its sessions may outlive any client of ours.
 */
#ifdef CURATOR_HAVE_TLS

#include "channel/gnutls_library.h"

#include "base/tag.h"
#include "channel/channel_error.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#define FILE_NAME     "libgnutls.so.30" /* of GnuTLS 3, whose headers these are */
#define NAME_OF(name) "gnutls_" #name,
G_STATIC_ASSERT (GNUTLS_VERSION_MAJOR == 3);

CuratorGnutls curator_gnutls;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static gboolean is_loaded; /* under the mutex */

static gboolean
find_symbols (void *library)
{
  static const char *const names[] = { CURATOR_GNUTLS_SYMBOLS (NAME_OF) };
  void **members = (void **) &curator_gnutls;
  G_STATIC_ASSERT (sizeof curator_gnutls == G_N_ELEMENTS (names) * sizeof *members);

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++) {
    members[i] = dlsym (library, names[i]);
    if (members[i] == NULL)
      return FALSE;
  }
  return TRUE;
}

gboolean
curator_gnutls_load (GError **error)
{
  pthread_mutex_lock (&mutex);
  errno = 0;
  if (!is_loaded) {
    void *library = dlopen (FILE_NAME, RTLD_NOW | RTLD_NODELETE);
    is_loaded = library != NULL && find_symbols (library);
  }
  const gboolean loaded = is_loaded;
  const int code =
      curator_is_shortage (errno) ? CURATOR_ERROR_RESOURCES : CURATOR_ERROR_UNSUPPORTED;
  pthread_mutex_unlock (&mutex);
  /* dlerror () tells of the calling thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
  return loaded || CURATOR_REFUSE (error, code, "TLS: GnuTLS cannot be loaded: %s", dlerror ());
}

#endif
