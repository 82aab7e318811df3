/* The random part of names: its form, and that it is unique, even after a fork(). */
#include "core/monitor.h"
#include "nodes/uuid.h"
#include "unit.h"

#include <sys/wait.h>
#include <unistd.h>

#define UUID_LENGTH (CURATOR_UUID_SIZE - 1)
#define N_UUIDS     10000

static char *
new_uuid (CuratorClient *client)
{
  char *uuid = g_malloc (CURATOR_UUID_SIZE);
  curator_client_lock (client);
  curator_uuid_write (client, uuid);
  curator_client_unlock (client);
  return uuid;
}

TEST (test_form)
{
  g_autoptr (CuratorClient) client = curator_client_new ("127.0.0.1:1", NULL);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (int i = 0; i < N_UUIDS; i++) {
    char *uuid = new_uuid (client);
    assert_true (g_uuid_string_is_valid (uuid));
    assert_int_equal (uuid[14], '4');
    assert_non_null (strchr ("89ab", uuid[19]));
    assert_true (g_hash_table_add (seen, uuid)); /* a new one */
  }
}

/* A child of fork() inherits its parent's memory, including a generator's state. */
TEST (test_other_after_fork)
{
  g_autoptr (CuratorClient) client = curator_client_new ("127.0.0.1:1", NULL);
  char theirs[UUID_LENGTH + 1] = "";
  int ends[2];
  int status;
  g_free (new_uuid (client));
  assert_int_equal (pipe (ends), 0);

  const pid_t child = fork ();
  assert_true (child >= 0);
  g_autofree char *uuid = new_uuid (client);
  if (child == 0)
    _exit (write (ends[1], uuid, UUID_LENGTH) == UUID_LENGTH ? 0 : 1);
  assert_int_equal (waitpid (child, &status, 0), child);
  assert_int_equal (status, 0);
  assert_int_equal (read (ends[0], theirs, UUID_LENGTH), UUID_LENGTH);
  assert_true (g_uuid_string_is_valid (theirs));
  assert_string_not_equal (uuid, theirs);
  close (ends[0]);
  close (ends[1]);
}

SUITE ("uuid", NULL, NULL)
