/* A resolver in place of the C library's, for names that say how they resolve: in the test itself,
 * and by LD_PRELOAD in the zkflock that it runs.
 *
 * none.absent                          there is no such name
 * late-127-0-0-1.absent                that address, after five seconds
 * two-127-0-0-1-127-0-0-2.absent       both
 */
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REPLACES  __attribute__ ((visibility ("default")))
#define LATE_S    5
#define HOST_SIZE 16

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);

static int
ask (const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
  GetAddrInfo real;
  void *symbol = dlsym (RTLD_NEXT, "getaddrinfo");
  memcpy (&real, &symbol, sizeof real);
  return real (host, service, hints, found);
}

REPLACES
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  unsigned at[8];
  char hosts[2][HOST_SIZE];

  if (node != NULL && strcmp (node, "none.absent") == 0)
    return EAI_NONAME;
  if (node != NULL
      && sscanf (node, "late-%u-%u-%u-%u.absent", &at[0], &at[1], &at[2], &at[3]) == 4) {
    if (hints == NULL || (hints->ai_flags & AI_NUMERICHOST) == 0)
      sleep (LATE_S);
    snprintf (hosts[0], HOST_SIZE, "%u.%u.%u.%u", at[0], at[1], at[2], at[3]);
    return hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0
               ? EAI_NONAME
               : ask (hosts[0], service, hints, found);
  }
  if (node != NULL
      && sscanf (node, "two-%u-%u-%u-%u-%u-%u-%u-%u.absent", &at[0], &at[1], &at[2], &at[3], &at[4],
                 &at[5], &at[6], &at[7])
             == 8) {
    if (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)
      return EAI_NONAME;
    snprintf (hosts[0], HOST_SIZE, "%u.%u.%u.%u", at[0], at[1], at[2], at[3]);
    snprintf (hosts[1], HOST_SIZE, "%u.%u.%u.%u", at[4], at[5], at[6], at[7]);
    const int failed = ask (hosts[0], service, hints, found);
    return failed != 0 ? failed : ask (hosts[1], service, hints, &(*found)->ai_next);
  }
  return ask (node, service, hints, found);
}
