/* A program that is not linked with the library opens and closes it a thousand times, in a thread
 * that waits in the library, and ends after the library is closed.
 *
 * Once loaded the library stays (-z nodelete), because its threads may outlive dlclose(). So the
 * program does not grow from the second time on.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define N_TIMES      1000
#define N_WARM_UP    20
#define MOST_GROWTH  64 /* pages; one for each time would be a thousand */
#define NULL_CONNECT "127.0.0.1:1"

typedef struct
{
  const char *wrong; /* NULL: all went well */
  long pages_before;
  long pages_after;
} Result;

static long
resident_pages (void)
{
  long total;
  long resident = 0;
  FILE *file = fopen ("/proc/self/statm", "re");

  if (file == NULL || fscanf (file, "%ld %ld", &total, &resident) != 2)
    resident = -1;
  if (file != NULL)
    fclose (file);
  return resident;
}

/* Whether each thread of the program must have room for the library from its start. */
static int
has_static_tls (void *library)
{
  struct link_map *map;

  if (dlinfo (library, RTLD_DI_LINKMAP, &map) != 0)
    return 1;
  for (const ElfW (Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_STATIC_TLS) != 0)
      return 1;
  return 0;
}

static const char *
use_once (int with_client)
{
  void *library = dlopen (CURATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return dlerror ();
  if (has_static_tls (library))
    return "the library has static TLS";
  void *(*client_new) (const char *, void *) =
      (void *(*) (const char *, void *) ) dlsym (library, "curator_client_new");
  int (*client_start) (void *, void *) =
      (int (*) (void *, void *)) dlsym (library, "curator_client_start");
  int (*block) (void *, int64_t, void *, void *) =
      (int (*) (void *, int64_t, void *, void *)) dlsym (library,
                                                         "curator_client_block_until_connected");
  void (*client_unref) (void *) = (void (*) (void *)) dlsym (library, "curator_client_unref");
  if (client_new == NULL || client_start == NULL || block == NULL || client_unref == NULL)
    return "a function is missing";
  if (!with_client)
    return dlclose (library) == 0 ? NULL : dlerror ();
  void *client = client_new (NULL_CONNECT, NULL);
  if (!client_start (client, NULL))
    return "the client was not started";
  if (block (client, 1, NULL, NULL))
    return "the client is connected";
  client_unref (client);
  return dlclose (library) == 0 ? NULL : dlerror ();
}

static void *
open_and_close (void *data)
{
  Result *result = data;

  for (int i = 0; i < N_TIMES && result->wrong == NULL; i++) {
    if (i == N_WARM_UP)
      result->pages_before = resident_pages ();
    result->wrong = use_once (i % 10 == 0);
  }
  result->pages_after = resident_pages ();
  return NULL; /* runs the destructors of what the library keeps for each thread */
}

static void
test_a_thousand_times (void **state)
{
  Result result = { NULL, 0, 0 };
  pthread_t thread;

  (void) state;
  /* How many of malloc's arenas the threads of the clients use is a matter of chance. */
  assert_int_equal (mallopt (M_ARENA_MAX, 1), 1);
  assert_int_equal (pthread_create (&thread, NULL, open_and_close, &result), 0);
  pthread_join (thread, NULL);
  if (result.wrong != NULL)
    fail_msg ("%s", result.wrong);
  print_message ("%ld pages after %d times, %ld after %d\n", result.pages_before, N_WARM_UP,
                 result.pages_after, N_TIMES);
  assert_true (result.pages_after <= result.pages_before + MOST_GROWTH);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_a_thousand_times) };
  return cmocka_run_group_tests_name ("plug_in", tests, NULL, NULL);
}
