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

/* A new file in place of the old one: whole, and on the disk when this returns TRUE. */
static gboolean
replace (const char *file, const char *text)
{
  g_autofree char *fresh = g_strconcat (file, ".new", NULL);
  g_autofree char *folder = g_path_get_dirname (file);
  FILE *stream = fopen (fresh, "we");
  gboolean written = stream != NULL && fputs (text, stream) >= 0 && fflush (stream) == 0
                     && fsync (fileno (stream)) == 0;
  written = (stream == NULL || fclose (stream) == 0) && written && rename (fresh, file) == 0;
  int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  written = written && fd >= 0 && fsync (fd) == 0;
  if (fd >= 0)
    close (fd);
  return written;
}

/* What has no file has no writer yet. What cannot be read refuses: somebody may have written. */
static gboolean
read_highest (const char *file, guint64 *highest)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  char *end = NULL;
  *highest = 0;
  if (!g_file_get_contents (file, &text, NULL, &error))
    return g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
  *highest = g_ascii_strtoull (text, &end, 10);
  return end != text && *end == ' ';
}

/* Comparing and writing must be one step, for which a file of its own is locked: the other one is
 * replaced. */
static gboolean
write_fenced (const char *file, guint64 token, const char *text)
{
  g_autofree char *lock = g_strconcat (file, ".lock", NULL);
  g_autofree char *line = g_strdup_printf ("%" G_GUINT64_FORMAT " %s\n", token, text);
  guint64 highest;
  int fd = open (lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  gboolean accepted = fd >= 0 && flock (fd, LOCK_EX) == 0 && read_highest (file, &highest)
                      && highest <= token && replace (file, line);
  if (fd >= 0)
    close (fd);
  return accepted;
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
  curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  /* The first holder is suspended here, and a second one acquires the lock. */
  if (!curator_lock_acquire (lock, 10000, NULL, &error))
    return fail (error);
  guint64 second = token_of (lock);

  gboolean fenced = write_fenced (file, second, "by the second holder");
  /* The first holder continues and writes. */
  fenced = fenced && !write_fenced (file, first, "by the first holder, too late");
  g_print ("tokens %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT ": %s\n", first, second,
           fenced ? "the late write was refused" : "NOT FENCED");
  curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  g_autofree char *lock_file = g_strconcat (file, ".lock", NULL);
  g_unlink (file);
  g_unlink (lock_file);
  g_rmdir (directory);
  return fenced ? 0 : 1;
}
