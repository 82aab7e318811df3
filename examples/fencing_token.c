/* SPDX-License-Identifier: Apache-2.0
 * Fencing in a resource: it stores the highest token it has seen, and so refuses a holder whose
 * hold ended unnoticed, for example while the machine was suspended. Here the resource is a file.
 *
 * usage: fencing_token CONNECT-STRING
 */
#include <curator/curator.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static int
fail (const GError *error)
{
  g_printerr ("fencing_token: %s\n", error->message);
  return 1;
}

/* Comparing and writing must be one atomic step, for which the file is locked. */
static gboolean
write_fenced (const char *file, guint64 token, const char *text)
{
  int fd = open (file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  FILE *stream = fd >= 0 && flock (fd, LOCK_EX) == 0 ? fdopen (fd, "r+") : NULL;
  if (stream == NULL)
    return FALSE;
  guint64 highest = 0;
  gboolean accepted = fscanf (stream, "%" G_GUINT64_FORMAT, &highest) != 1 || highest <= token;
  if (accepted)
    {
      rewind (stream);
      accepted =
          ftruncate (fd, 0) == 0 && fprintf (stream, "%" G_GUINT64_FORMAT " %s\n", token, text) > 0;
    }
  return fclose (stream) == 0 && accepted;
}

/* Of the calling thread's hold. */
static guint64
token_of (CuratorLock *lock)
{
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  return curator_lease_get_fencing_token (lease);
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  if (!curator_client_start (client, &error))
    return fail (error);

  g_autofree char *directory = g_dir_make_tmp ("fencing-XXXXXX", &error);
  g_autofree char *file = directory != NULL ? g_build_filename (directory, "state", NULL) : NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/fencing", NULL);
  if (file == NULL || !curator_lock_acquire (lock, 10000, NULL, &error))
    return fail (error);
  guint64 first = token_of (lock);
  curator_lock_release (lock, 0, NULL, NULL);
  /* The first holder is suspended here, and a second one acquires the lock. */
  if (!curator_lock_acquire (lock, 10000, NULL, &error))
    return fail (error);
  guint64 second = token_of (lock);

  gboolean fenced = write_fenced (file, second, "by the second holder");
  /* The first holder continues and writes. */
  fenced = fenced && !write_fenced (file, first, "by the first holder, too late");
  g_print ("tokens %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT ": %s\n", first, second,
           fenced ? "the late write was refused" : "NOT FENCED");
  curator_lock_release (lock, 0, NULL, NULL);
  g_unlink (file);
  g_rmdir (directory);
  return fenced ? 0 : 1;
}
