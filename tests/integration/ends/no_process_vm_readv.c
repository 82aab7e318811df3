/* A system without process_vm_readv (), as behind some filters of system calls. */
#include <errno.h>
#include <sys/uio.h>

ssize_t
process_vm_readv (pid_t pid, const struct iovec *local, unsigned long n_local,
                  const struct iovec *remote, unsigned long n_remote, unsigned long flags)
{
  errno = EPERM;
  return -1;
}
