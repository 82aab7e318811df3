#include "resolver.h"

#include "shared.h"
#include "support/waiting.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#define REPLACES __attribute__ ((visibility ("default")))
#define HANG_MS  30000
#define LOOK_MS  20

static ResolverNames *names;
/* Looked up once: a child of fork must not ask the dynamic linker. */
static __typeof__ (&getaddrinfo) real;
static __typeof__ (&connect) real_connect;

static void
find_real (void)
{
  real = (__typeof__ (real)) dlsym (RTLD_NEXT, "getaddrinfo");
  real_connect = (__typeof__ (real_connect)) dlsym (RTLD_NEXT, "connect");
}

void
resolver_begin (ResolverNames *of_process)
{
  find_real ();
  names = of_process;
}

/* A look-up that gets no answer fails in the end, and asks nobody again. */
static ResolverMode
answer_mode (void)
{
  const ResolverMode mode = (ResolverMode) shared_get (&names->mode);
  for (int ms = 0; shared_get (&names->mode) == RESOLVER_HANGS && ms < HANG_MS; ms += LOOK_MS)
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
  for (; *hosts != NULL; hosts++) {
    failed = real (*hosts, service, hints, end);
    for (; failed == 0 && *end != NULL; end = &(*end)->ai_next) {
    }
  }
  return *found != NULL ? 0 : failed;
}

REPLACES
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  char host[INET_ADDRSTRLEN];
  int member;

  if (real == NULL)
    find_real ();
  if (names == NULL || node == NULL || (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)
      || sscanf (node, "zk-%d.test", &member) != 1)
    return real (node, service, hints, found);
  const ResolverMode mode = answer_mode ();
  if (mode == RESOLVER_HANGS || mode == RESOLVER_UNKNOWN)
    return mode == RESOLVER_HANGS ? EAI_AGAIN : EAI_NONAME;
  const struct in_addr address = { shared_get (mode == RESOLVER_WRONG ? &names->wrong
                                                                      : &names->hosts[member]) };
  inet_ntop (AF_INET, &address, host, sizeof host);
  const char *const several[] = { RESOLVER_NOBODY, host, "::1", NULL };
  const char *const one[] = { host, NULL };
  return ask (mode == RESOLVER_SEVERAL ? several : one, service, hints, found);
}

REPLACES
int
connect (int fd, const struct sockaddr *name, socklen_t size)
{
  struct sockaddr_in to;

  if (real_connect == NULL)
    find_real ();
  memcpy (&to, name, MIN (size, sizeof to));
  if (names != NULL && name->sa_family == AF_INET && to.sin_addr.s_addr == names->absent)
    shared_add (&names->dials, 1);
  return real_connect (fd, name, size);
}
