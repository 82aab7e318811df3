/* A program that has only the installed library and nothing else of this project. */
#include <curator/curator.h>
#include <stdio.h>
#include <string.h>

int
main (int argc, char **argv)
{
  char version[32];
  snprintf (version, sizeof version, "%d.%d.%d%s", CURATOR_MAJOR_VERSION, CURATOR_MINOR_VERSION,
            CURATOR_MICRO_VERSION, CURATOR_VERSION_SUFFIX);
  if (strcmp (version, curator_get_version ()) != 0) {
    fprintf (stderr, "headers of %s, library of %s\n", version, curator_get_version ());
    return 1;
  }
  g_autoptr (CuratorClient) client = curator_client_new (argc > 1 ? argv[1] : "", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/consumer", &error);
  if (lock == NULL || !curator_client_start (client, &error)
      || !curator_lock_acquire (lock, 20000, NULL, &error)) {
    fprintf (stderr, "%s\n", error->message);
    return 1;
  }
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  printf ("held with token %" G_GUINT64_FORMAT "\n", curator_lease_get_fencing_token (lease));
  return curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL) ? 0 : 1;
}
