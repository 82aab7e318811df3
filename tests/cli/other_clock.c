/* A time of day that is OTHER_CLOCK_AHEAD seconds ahead, by LD_PRELOAD in a server's JVM. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPLACES __attribute__ ((visibility ("default")))

typedef int (*ClockGettime) (clockid_t clock, struct timespec *now);

REPLACES
int
clock_gettime (clockid_t clock, struct timespec *now)
{
  const char *ahead = getenv ("OTHER_CLOCK_AHEAD");
  ClockGettime real;
  void *symbol = dlsym (RTLD_NEXT, "clock_gettime");
  memcpy (&real, &symbol, sizeof real);
  const int result = real (clock, now);

  if (clock == CLOCK_REALTIME && ahead != NULL)
    now->tv_sec += atol (ahead);
  return result;
}
