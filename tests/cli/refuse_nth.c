/* Takes the place of calls of the C library, by LD_PRELOAD: refuses the nth call of one of them in
 * each process, as a machine that is short of something at that moment. REFUSE_CALL is its name,
 * REFUSE_NTH the number, and the file REFUSE_MARK is there afterwards. libzookeeper's threads are
 * left out: it ends the process without one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define REPLACES __attribute__ ((visibility ("default")))

static int n_calls; /* atomic */

static int
is_refused (const char *call)
{
  const char *wanted = getenv ("REFUSE_CALL");

  if (wanted == NULL || strcmp (wanted, call) != 0
      || __atomic_add_fetch (&n_calls, 1, __ATOMIC_SEQ_CST) != atoi (getenv ("REFUSE_NTH")))
    return 0;
  close (open (getenv ("REFUSE_MARK"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  return 1;
}

/* A call that fails with -1. */
#define REPLACE(Result, name, error, parameters, arguments)                                        \
  REPLACES Result name parameters                                                                  \
  {                                                                                                \
    __typeof__ (&name) real = (__typeof__ (&name)) dlsym (RTLD_NEXT, #name);                       \
    if (!is_refused (#name))                                                                       \
      return real arguments;                                                                       \
    errno = error;                                                                                 \
    return -1;                                                                                     \
  }

REPLACE (pid_t, fork, EAGAIN, (void), ())
REPLACE (int, pipe2, EMFILE, (int ends[2], int flags), (ends, flags))
REPLACE (int, eventfd, EMFILE, (unsigned count, int flags), (count, flags))
REPLACE (int, timerfd_create, EMFILE, (int clock, int flags), (clock, flags))
REPLACE (int, signalfd, EMFILE, (int fd, const sigset_t *mask, int flags), (fd, mask, flags))
REPLACE (int, socket, EMFILE, (int domain, int type, int protocol), (domain, type, protocol))
REPLACE (int, socketpair, EMFILE, (int domain, int type, int protocol, int ends[2]),
         (domain, type, protocol, ends))

REPLACES int
pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*start) (void *), void *data)
{
  __typeof__ (&pthread_create) real =
      (__typeof__ (&pthread_create)) dlsym (RTLD_NEXT, "pthread_create");
  Dl_info info;

  if ((dladdr ((void *) start, &info) == 0 || strstr (info.dli_fname, "libzookeeper") == NULL)
      && is_refused ("pthread_create"))
    return EAGAIN;
  return real (thread, attr, start, data);
}
