#include "ipv6_only.h"

#include <arpa/inet.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

gboolean
ipv6_only_enter (void)
{
  struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING };

  if (unshare (CLONE_NEWNET) != 0)
    return FALSE;
  const int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (ioctl (fd, SIOCSIFFLAGS, &up), ==, 0);
  close (fd);
  return TRUE;
}

void
ipv6_only_begin (void)
{
  struct in6_ifreq address = { .ifr6_prefixlen = 64, .ifr6_ifindex = (int) if_nametoindex ("lo") };
  const int fd = socket (AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

  inet_pton (AF_INET6, "fd00::1", &address.ifr6_addr);
  g_assert_cmpint (ioctl (fd, SIOCSIFADDR, &address), ==, 0);
  close (fd);
}
