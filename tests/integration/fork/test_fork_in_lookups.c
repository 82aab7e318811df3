/* A fork at any moment of a client's connections: no child begins while a thread of its parent
 * looks a name up or computes local time for a message, in which the C library has locks of which
 * fork () knows nothing. Who does (this library or libzookeeper's own thread) and when (the first
 * attempt, after a failure, while a server refuses) varies; the observer is the C library's own
 * function. */
#include "integration/fixture.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_CLIENTS     3
#define LOOKUP_US     2000
#define MOST_PAUSE_US 8000
#define LEAST_LOOKUPS 20 /* or else nothing was tried */
#define LEAST_TIMES   20
#define HANGS_AFTER_S 200

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);

static gint n_inside;  /* atomic */
static gint n_lookups; /* atomic */
static gint n_times;   /* atomic */
/* In place of the C library's own, around its work with local time. */
static pthread_mutex_t zones = PTHREAD_MUTEX_INITIALIZER;

/* Not one of the fixture's observer, whose handle looks up in each turn. */
static gboolean
is_of_the_library (void)
{
  char name[16] = "";
  pthread_getname_np (pthread_self (), name, sizeof name);
  return g_str_has_prefix (name, "zk-io") || g_str_has_prefix (name, "curator");
}

/* In place of the C library's: slower. */
CURATOR_API
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  const GetAddrInfo real = (GetAddrInfo) dlsym (RTLD_NEXT, "getaddrinfo");
  const gint n = is_of_the_library () ? 1 : 0;
  g_atomic_int_add (&n_lookups, n);
  g_atomic_int_add (&n_inside, n);
  usleep (LOOKUP_US);
  const int failed = real (node, service, hints, found);
  g_atomic_int_add (&n_inside, -n);
  return failed;
}

/* As slow as the look-up. */
static void
lock_zones (void)
{
  pthread_mutex_lock (&zones);
  g_atomic_int_inc (&n_times);
  usleep (LOOKUP_US);
}

/* libzookeeper's messages. */
CURATOR_API
struct tm *
localtime_r (const time_t *when, struct tm *result)
{
  struct tm *(*const real) (const time_t *, struct tm *) =
      (struct tm * (*) (const time_t *, struct tm *) ) dlsym (RTLD_NEXT, "localtime_r");
  lock_zones ();
  real (when, result);
  pthread_mutex_unlock (&zones);
  return result;
}

/* GLib's messages. */
CURATOR_API
struct tm *
localtime (const time_t *when)
{
  struct tm *(*const real) (const time_t *) =
      (struct tm * (*) (const time_t *) ) dlsym (RTLD_NEXT, "localtime");
  lock_zones ();
  struct tm *result = real (when);
  pthread_mutex_unlock (&zones);
  return result;
}

CURATOR_API
void
tzset (void)
{
  void (*const real) (void) = (void (*) (void)) dlsym (RTLD_NEXT, "tzset");
  pthread_mutex_lock (&zones);
  real ();
  pthread_mutex_unlock (&zones);
}

static gboolean
forks_outside (void)
{
  int status = 0;
  const pid_t pid = fork ();
  if (pid == 0)
    _exit (g_atomic_int_get (&n_inside) == 0 && pthread_mutex_trylock (&zones) == 0 ? 0 : 1);
  assert_int_equal (waitpid (pid, &status, 0), pid);
  return status == 0;
}

typedef struct
{
  const char *what;
  int n_forks; /* each waits up to a second for the next connection */
  void (*disturb) (Proxy *proxy, int round);
} Ground;

static void
let_be (Proxy *proxy, int round)
{
}

static void
cut (Proxy *proxy, int round)
{
  proxy_cut (proxy);
}

static void
refuse_for_a_while (Proxy *proxy, int round)
{
  if (round % 10 == 0)
    proxy_set_mode (proxy, PROXY_REFUSE);
  if (round % 10 == 5)
    proxy_set_mode (proxy, PROXY_PASS);
}

static const Ground grounds[] = {
  { "first attempts", 60, let_be },
  { "connections that are cut", 30, cut },
  { "a server that refuses", 20, refuse_for_a_while },
};

static int
count_inside (const Ground *ground, const char *address)
{
  Proxy *proxy = proxy_new (address);
  CuratorClient *clients[N_CLIENTS] = { NULL };
  int n_wrong = 0;

  for (int round = 0; round < ground->n_forks || g_atomic_int_get (&n_lookups) < LEAST_LOOKUPS;
       round++) {
    CuratorClient **client = &clients[round % N_CLIENTS];
    if (*client == NULL || ground->disturb == let_be) {
      g_clear_pointer (client, curator_client_unref);
      *client = client_new (proxy_address (proxy));
      assert_true (curator_client_start (*client, NULL));
    }
    ground->disturb (proxy, round);
    g_usleep ((gulong) g_random_int_range (0, MOST_PAUSE_US));
    n_wrong += forks_outside () ? 0 : 1;
  }
  for (int i = 0; i < N_CLIENTS; i++)
    g_clear_pointer (&clients[i], curator_client_unref);
  proxy_free (proxy);
  return n_wrong;
}

TEST (test_no_child_begins_in_a_lookup_or_a_message)
{
  alarm (HANGS_AFTER_S);
  g_atomic_int_set (&n_times, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (grounds); i++) {
    g_atomic_int_set (&n_lookups, 0);
    const int n_wrong = count_inside (&grounds[i], fixture_server (fixture));
    if (n_wrong > 0 || g_atomic_int_get (&n_lookups) < LEAST_LOOKUPS) {
      fail_msg ("%s: %d of %d children began in one of %d look-ups or %d messages", grounds[i].what,
                n_wrong, grounds[i].n_forks, g_atomic_int_get (&n_lookups),
                g_atomic_int_get (&n_times));
    }
  }
  assert_in_range (g_atomic_int_get (&n_times), LEAST_TIMES, G_MAXINT);
  alarm (0);
}

SUITE ("fork_in_lookups", fixture_start, fixture_stop)
