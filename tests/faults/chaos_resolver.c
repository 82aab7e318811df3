#include "chaos_resolver.h"

#include "support/waiting.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#define REPLACES  __attribute__ ((visibility ("default")))
#define NOBODY    "127.255.255.1"
#define HANG_MS   30000
#define LOOK_MS   20
#define HOST_SIZE INET_ADDRSTRLEN

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);
typedef int (*Connect) (int fd, const struct sockaddr *name, socklen_t size);

static ChaosNames *names;
/* Looked up once: a child of fork must not ask the dynamic linker. */
static GetAddrInfo real;
static Connect real_connect;

static GetAddrInfo
find_real (void)
{
  GetAddrInfo found;
  void *symbol = dlsym (RTLD_NEXT, "getaddrinfo");
  memcpy (&found, &symbol, sizeof found);
  return found;
}

static Connect
find_connect (void)
{
  Connect found;
  void *symbol = dlsym (RTLD_NEXT, "connect");
  memcpy (&found, &symbol, sizeof found);
  return found;
}

gboolean
chaos_resolver_begin (const char *path)
{
  real = find_real ();
  real_connect = find_connect ();
  names = chaos_names_open (path);
  return names != NULL;
}

/* A look-up that gets no answer fails in the end, and asks nobody again. */
static ChaosNamesMode
answer_mode (void)
{
  const ChaosNamesMode mode = (ChaosNamesMode) chaos_cell (&names->mode);
  for (int ms = 0; chaos_cell (&names->mode) == CHAOS_NAMES_HANG && ms < HANG_MS; ms += LOOK_MS)
    wait_ms (LOOK_MS);
  return mode;
}

static int
ask (const char *const *hosts, const char *service, const struct addrinfo *hints,
     struct addrinfo **found)
{
  struct addrinfo **end = found;
  int failed = EAI_NONAME;

  *found = NULL;
  for (; *hosts != NULL; hosts++)
    {
      failed = real (*hosts, service, hints, end);
      for (; failed == 0 && *end != NULL; end = &(*end)->ai_next)
        {
        }
    }
  return *found != NULL ? 0 : failed;
}

REPLACES
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  char host[HOST_SIZE];
  int member;

  if (names == NULL || node == NULL || (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)
      || sscanf (node, "zk-%d.chaos", &member) != 1)
    return (real != NULL ? real : find_real ()) (node, service, hints, found);
  const ChaosNamesMode mode = answer_mode ();
  if (mode == CHAOS_NAMES_HANG || mode == CHAOS_NAMES_UNKNOWN)
    return mode == CHAOS_NAMES_HANG ? EAI_AGAIN : EAI_NONAME;
  const guint32 *number = mode == CHAOS_NAMES_WRONG ? &names->hostile : &names->hosts[member];
  const struct in_addr address = { chaos_cell (number) };
  inet_ntop (AF_INET, &address, host, sizeof host);
  const char *const several[] = { NOBODY, host, "::1", NULL };
  const char *const one[] = { host, NULL };
  return ask (mode == CHAOS_NAMES_SEVERAL ? several : one, service, hints, found);
}

REPLACES
int
connect (int fd, const struct sockaddr *name, socklen_t size)
{
  struct sockaddr_in to;

  memcpy (&to, name, MIN (size, sizeof to));
  if (names != NULL && name->sa_family == AF_INET && to.sin_addr.s_addr == names->absent)
    chaos_cell_add (&names->dials, 1);
  return (real_connect != NULL ? real_connect : find_connect ()) (fd, name, size);
}
