/* Runs a program that the kernel refuses some system calls, as an older kernel or a strict container does:
 * refuse ERROR FIRST LAST PROGRAM ARGUMENTS... refuses the calls from number FIRST to LAST with errno ERROR. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int
main (int argc, char **argv)
{
  if (argc < 5)
    return 97;
  const unsigned error = (unsigned) atoi (argv[1]) & SECCOMP_RET_DATA;
  struct sock_filter rules[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JGE | BPF_K, (unsigned) atoi (argv[2]), 0, 2),
    BPF_JUMP (BPF_JMP | BPF_JGT | BPF_K, (unsigned) atoi (argv[3]), 1, 0),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = { .len = sizeof rules / sizeof *rules, .filter = rules };

  if (geteuid () != 0 && prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return 96;
  if (prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 95;
  execvp (argv[4], argv + 4);
  return 94;
}
