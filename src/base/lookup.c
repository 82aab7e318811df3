/* A host name to its addresses, by the C library.
 *
 * Mirrors InetAddress.getAllByName. Threads: any; a mutex of its own.
 *
 * NOTES: the C library has locks in getaddrinfo() of which fork() knows nothing, such as that of
 * its list of the host's interfaces (check_pf). A child that inherits one locked hangs in its own
 * first look-up. So fork() waits for the look-ups under way, until the last one has begun a second
 * ago: then they wait for a name server, without a lock, or have had no processor. A clock goes on
 * while the process is stopped, so fork() looks a number of times at least. Then it takes that
 * lock, the only one that is held during system calls, and gives it back. It remains that a look-up
 * gets its processor or its answer, by which glibc sorts, just while fork() runs.
 */
#include "base/lookup.h"

#include "base/fork_gate.h"

#include <pthread.h>
#include <string.h>

#define PATIENCE_US G_USEC_PER_SEC
#define LOOKS       200 /* at least */
#define PAUSE_US    500 /* between two looks */

#ifndef AI_IDN
#define AI_IDN 0 /* names are ASCII there */
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Both are locked while fork() runs, the entrance also while it waits. The gate guards the next
 * two. */
static pthread_mutex_t entrance = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static guint n_under_way[CURATOR_N_LOOKUPS];
static gint64 last_began_us[CURATOR_N_LOOKUPS]; /* of those under way */

static gboolean
may_have_locks (int kind, int looks)
{
  return n_under_way[kind] > 0
         && (looks < LOOKS || g_get_monotonic_time () < last_began_us[kind] + PATIENCE_US);
}

/* glibc reads its list of interfaces for every look-up with this flag. */
static void
wait_for_interfaces (void)
{
  const struct addrinfo hints = { .ai_flags = AI_ADDRCONFIG | AI_NUMERICHOST };
  struct addrinfo *found = NULL;

  if (getaddrinfo ("127.0.0.1", NULL, &hints, &found) == 0)
    freeaddrinfo (found);
}

static void
before_fork (void)
{
  pthread_mutex_lock (&entrance);
  pthread_mutex_lock (&gate);
  for (int kind = 0; kind < CURATOR_N_LOOKUPS; kind++) {
    for (int looks = 0; may_have_locks (kind, looks); looks++) {
      pthread_mutex_unlock (&gate);
      g_usleep (PAUSE_US);
      pthread_mutex_lock (&gate);
    }
  }
  if (n_under_way[CURATOR_LOOKUP_BY_US] + n_under_way[CURATOR_LOOKUP_BY_LIBRARY] > 0)
    wait_for_interfaces ();
}

static void
in_parent (void)
{
  pthread_mutex_unlock (&gate);
  pthread_mutex_unlock (&entrance);
}

/* The threads that looked up do not exist here, nor do those that waited for them. */
static void
in_child (void)
{
  memset (n_under_way, 0, sizeof n_under_way);
  in_parent ();
}

static void
watch_forks (void)
{
  curator_gate_at_fork (before_fork, in_parent, in_child);
}

void
curator_lookup_watch_forks (void)
{
  pthread_once (&once, watch_forks);
}

void
curator_lookup_enter (CuratorLookupKind kind)
{
  curator_lookup_watch_forks ();
  pthread_mutex_lock (&entrance);
  pthread_mutex_lock (&gate);
  n_under_way[kind]++;
  last_began_us[kind] = g_get_monotonic_time ();
  pthread_mutex_unlock (&gate);
  pthread_mutex_unlock (&entrance);
}

void
curator_lookup_leave (CuratorLookupKind kind)
{
  pthread_mutex_lock (&gate);
  n_under_way[kind]--;
  pthread_mutex_unlock (&gate);
}

static int
look_up (const char *host, int flags, struct addrinfo **found)
{
  const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };

  const guint depth = curator_gate_suspend ();
  curator_lookup_enter (CURATOR_LOOKUP_BY_US);
  const int failed = getaddrinfo (host, NULL, &hints, found);
  curator_lookup_leave (CURATOR_LOOKUP_BY_US);
  curator_gate_resume (depth);
  return failed;
}

gboolean
curator_lookup_takes (const char *number)
{
  struct addrinfo *found = NULL;
  const int failed = look_up (number, AI_ADDRCONFIG | AI_NUMERICHOST, &found);

  if (found != NULL)
    freeaddrinfo (found);
  return failed == 0;
}

static int
ask (GPtrArray *addresses, const char *host, int flags)
{
  struct addrinfo *found = NULL;
  const int failed = look_up (host, flags, &found);

  for (const struct addrinfo *next = found; next != NULL; next = next->ai_next) {
    /* A name may stand in several lines of /etc/hosts. */
    const CuratorAddress address = curator_address_new (next->ai_addr, next->ai_addrlen);
    curator_address_add_once (addresses, &address);
  }
  if (found != NULL)
    freeaddrinfo (found);
  return failed;
}

GPtrArray *
curator_lookup (const char *host, int *failed)
{
  CURATOR_INSIDE_GATE;
  GPtrArray *addresses = g_ptr_array_new_with_free_func (g_free);

  /* Addresses of a kind that this machine cannot reach are worth nothing, unless there are no
   * others. */
  *failed = ask (addresses, host, AI_ADDRCONFIG | AI_IDN);
  if (*failed != 0 && *failed != EAI_AGAIN)
    *failed = ask (addresses, host, 0);
  return addresses;
}
