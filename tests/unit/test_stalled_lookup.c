/* A look-up that gets no processor for longer than fork () waits for look-ups, with the lock of the
 * C library's list of interfaces: no child inherits that lock. A filter of the kernel's stops the
 * look-up in the one system call that only this list makes. */
#include "base/lookup.h"
#include "unit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netdb.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STALL_US      (3 * G_USEC_PER_SEC)
#define HANGS_AFTER_S 30

static gint stalled; /* atomic */
static gint forking; /* atomic */

/* Of the calling thread and those that it starts. The descriptor that tells of calls of bind (). */
static int
filter_bind (void)
{
  struct sock_filter rules[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_bind, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = { .len = G_N_ELEMENTS (rules), .filter = rules };
  assert_int_equal (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  return (int) syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

/* The first call stalls, for that long after fork () was called. */
static void *
let_go_on (void *data)
{
  const int listener = *(const int *) data;
  for (;;) {
    struct seccomp_notif call = { 0 };
    if (ioctl (listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
      continue;
    if (g_atomic_int_add (&stalled, 1) == 0) {
      while (!g_atomic_int_get (&forking))
        g_usleep (1000);
      g_usleep (STALL_US);
    }
    struct seccomp_notif_resp answer = { .id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
    ioctl (listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  return NULL;
}

static void *
look_up (void *data)
{
  int failed = 0;
  g_ptr_array_unref (curator_lookup ("localhost", &failed));
  return NULL;
}

static G_NORETURN void
live (void)
{
  const struct addrinfo hints = { .ai_flags = AI_ADDRCONFIG };
  struct addrinfo *found = NULL;
  alarm (HANGS_AFTER_S);
  _exit (getaddrinfo ("127.0.0.1", NULL, &hints, &found) == 0 ? 0 : 1);
}

TEST (test_no_child_inherits_the_lock_of_the_interfaces)
{
  pthread_t listening, looking;
  int status = -1;
  int listener = filter_bind ();
  assert_true (listener >= 0);
  pthread_create (&listening, NULL, let_go_on, &listener);
  pthread_create (&looking, NULL, look_up, NULL);
  while (g_atomic_int_get (&stalled) == 0)
    g_usleep (1000);
  g_atomic_int_set (&forking, TRUE);
  const pid_t pid = fork ();
  if (pid == 0)
    live ();
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_int_equal (status, 0);
  pthread_join (looking, NULL);
}

SUITE ("stalled lookup", NULL, NULL)
