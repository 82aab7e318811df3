/* Runs a program that the kernel refuses some system calls, as an older kernel, a strict
 * container or a machine that is short of something does:
 * refuse ERROR FIRST LAST PROGRAM ARGUMENTS... refuses the calls from number FIRST to LAST with
 * errno ERROR.
 * refuse late PROGRAM ARGUMENTS... has no random numbers yet: getrandom () waits, unless it is
 * told not to. It waits for an answer of the filter's listener, whose descriptor the program
 * inherits and does not know.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(member) BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, member))
#define RETURN(what) BPF_STMT (BPF_RET | BPF_K, what)

static void
run_filtered (struct sock_filter *rules, size_t n, unsigned flags, char **argv)
{
  const struct sock_fprog program = { .len = (unsigned short) n, .filter = rules };

  if (geteuid () != 0 && prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    _exit (96);
  const long listener = syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  if (listener < 0)
    _exit (95);
  if (listener > 0 && dup ((int) listener) < 0) /* without FD_CLOEXEC */
    _exit (93);
  execvp (argv[0], argv);
  _exit (94);
}

int
main (int argc, char **argv)
{
  if (argc > 2 && strcmp (argv[1], "late") == 0) {
    struct sock_filter rules[] = {
      LOAD (nr),
      BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 1, 0),
      RETURN (SECCOMP_RET_ALLOW),
      LOAD (args[2]),
      BPF_JUMP (BPF_JMP | BPF_JSET | BPF_K, GRND_NONBLOCK | GRND_INSECURE, 0, 1),
      RETURN (SECCOMP_RET_ERRNO | EAGAIN),
      RETURN (SECCOMP_RET_USER_NOTIF),
    };
    run_filtered (rules, sizeof rules / sizeof *rules, SECCOMP_FILTER_FLAG_NEW_LISTENER, argv + 2);
  }
  if (argc < 5)
    return 97;
  const unsigned error = (unsigned) atoi (argv[1]) & SECCOMP_RET_DATA;
  struct sock_filter rules[] = {
    LOAD (nr),
    BPF_JUMP (BPF_JMP | BPF_JGE | BPF_K, (unsigned) atoi (argv[2]), 0, 2),
    BPF_JUMP (BPF_JMP | BPF_JGT | BPF_K, (unsigned) atoi (argv[3]), 1, 0),
    RETURN (SECCOMP_RET_ERRNO | error),
    RETURN (SECCOMP_RET_ALLOW),
  };
  run_filtered (rules, sizeof rules / sizeof *rules, 0, argv + 4);
}
