/* What a run needs of this machine, tried before a lock is asked for.
 *
 * GLib ends a process that gets no descriptor or no memory where it needs one, and GnuTLS waits
 * for random numbers while signals are blocked. A thread that cannot be started is an error, of
 * the library or of ours.
 */
#include "base/needs.h"

#include "base/outcome.h"
#include "base/outlet.h"
#include "base/status.h"
#include "channel/channel_error.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_DESCRIPTORS 32
#define N_THREADS     10
#define STACK_BYTES   (1 << 20)
#define HEAP_BYTES    (16 << 20)

static gboolean
has_descriptors (void)
{
  int fds[N_DESCRIPTORS];
  int n = 0;

  while (n < N_DESCRIPTORS && (fds[n] = open ("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
    n++;
  const int error = errno;
  for (int i = 0; i < n; i++)
    close (fds[i]);
  errno = error;
  return n == N_DESCRIPTORS;
}

static gboolean
has_memory (void)
{
  const gsize bytes = N_THREADS * (gsize) STACK_BYTES + HEAP_BYTES;
  void *memory = mmap (NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  return memory != MAP_FAILED && munmap (memory, bytes) == 0;
}

static const char *shown_path;

void __assert_fail (const char *assertion, const char *file, unsigned line, const char *function);

/* Takes the place of the C library's. libzookeeper asserts that its threads could be started, and
 * others may have taken the last ones since that was tried. */
G_GNUC_NORETURN __attribute__ ((visibility ("default"))) void
__assert_fail (const char *assertion, const char *file, unsigned line, const char *function)
{
  if (strstr (assertion, "pthread_create") == NULL) {
    print_error (NULL, "%s:%u: %s: %s does not hold", file, line, function, assertion);
    outlets_finish ();
    abort ();
  }
  const int code = report_shortage (shown_path, "cannot start a thread of libzookeeper", EAGAIN);
  status_finish (code);
  _exit (code);
}

gboolean
needs_are_met (const char *path)
{
  g_autoptr (GError) error = NULL;
  pthread_attr_t attributes;

  shown_path = path;
  /* For another arena malloc () takes 64 MB of addresses, if only for a moment. Below "ulimit -v" a
   * thread that needs memory in that moment gets none. */
  mallopt (M_ARENA_MAX, 1);
  /* The same for every thread of the process, whatever "ulimit -s" says. */
  pthread_attr_init (&attributes);
  pthread_attr_setstacksize (&attributes, STACK_BYTES);
  pthread_setattr_default_np (&attributes);
  pthread_attr_destroy (&attributes);
  if (!has_descriptors ())
    report_shortage (path, "cannot open descriptors", errno);
  else if (!has_memory ())
    report_shortage (path, "cannot get memory", errno);
  else if (!curator_check_random (&error))
    print_error (path, "%s", error->message);
  else
    return TRUE;
  return FALSE;
}
