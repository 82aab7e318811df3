/* A disk that keeps what was synced and nothing else, for the folder LOSSY_DISK: in place of fsync
 * () and fdatasync () of a program, or of a server by LD_PRELOAD.
 *
 * What a file contains when it is synced is copied to LOSSY_DISK.disk/INODE, and so are the names
 * in a folder, with their inodes. From them resources.py makes the folder anew, as a machine
 * without power would find it. LOSSY_DISK.board is the record below: all processes that use the
 * folder share it.
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REPLACES  __attribute__ ((visibility ("default")))
#define PATH_SIZE 4096

typedef struct
{
  uint32_t n_left;  /* syncs until the power goes, before the last one takes effect; 0: it stays */
  uint32_t is_off;  /* nobody gets further than to its next sync */
  uint32_t forgets; /* also what was synced */
} Board;

static const char *folder;
static Board *board; /* NULL: there is no such disk */

__attribute__ ((constructor)) static void
find_board (void)
{
  char path[PATH_SIZE];

  if (getenv ("LOSSY_DISK") == NULL)
    return;
  folder = strdup (getenv ("LOSSY_DISK")); /* servers write their titles over the environment */
  snprintf (path, sizeof path, "%s.board", folder);
  const int fd = open (path, O_RDWR | O_CLOEXEC);
  void *map = mmap (NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close (fd);
  if (map == MAP_FAILED)
    abort ();
  board = map;
}

static int
is_on_disk (int fd)
{
  char link[64];
  char path[PATH_SIZE];

  snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink (link, path, sizeof path - 1);
  const size_t own = strlen (folder);
  path[length > 0 ? length : 0] = '\0';
  return strncmp (path, folder, own) == 0 && (path[own] == '/' || path[own] == '\0');
}

static void
copy_names (int fd, int copy)
{
  DIR *names = fdopendir (openat (fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

  for (const struct dirent *name; (name = readdir (names)) != NULL;)
    dprintf (copy, "%llu %d %s\n", (unsigned long long) name->d_ino, name->d_type == DT_DIR,
             name->d_name);
  closedir (names);
}

/* By a descriptor of its own: the program may have opened the file for writing only. */
static void
copy_bytes (int fd, int copy)
{
  char link[64];
  char bytes[65536];

  snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
  const int own = open (link, O_RDONLY | O_CLOEXEC);
  for (ssize_t n; (n = read (own, bytes, sizeof bytes)) > 0;)
    if (write (copy, bytes, (size_t) n) != n)
      abort ();
  close (own);
}

/* All of it, or nothing if the process is killed. A limit of the size of files is for the disk, not
 * for what is kept. */
static void
keep (int fd, const struct stat *status)
{
  struct rlimit limit;
  struct rlimit none;

  char path[PATH_SIZE];
  char fresh[PATH_SIZE + 32];

  snprintf (path, sizeof path, "%s.disk/%llu", folder, (unsigned long long) status->st_ino);
  snprintf (fresh, sizeof fresh, "%s.%ld.new", path, syscall (SYS_gettid));
  getrlimit (RLIMIT_FSIZE, &limit);
  none = limit;
  none.rlim_cur = none.rlim_max;
  setrlimit (RLIMIT_FSIZE, &none);
  const int copy = open (fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  (S_ISDIR (status->st_mode) ? copy_names : copy_bytes) (fd, copy);
  if (close (copy) != 0 || rename (fresh, path) != 0)
    abort ();
  setrlimit (RLIMIT_FSIZE, &limit);
}

static void
count_down (void)
{
  uint32_t left = __atomic_load_n (&board->n_left, __ATOMIC_SEQ_CST);

  while (left > 0
         && !__atomic_compare_exchange_n (&board->n_left, &left, left - 1, 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST)) {
  }
  if (left == 1)
    __atomic_store_n (&board->is_off, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n (&board->is_off, __ATOMIC_SEQ_CST))
    raise (SIGKILL);
}

static int
sync_fd (int fd)
{
  struct stat status;

  if (fstat (fd, &status) != 0)
    return -1;
  if (board == NULL || !is_on_disk (fd))
    return (int) syscall (SYS_fsync, fd);
  count_down ();
  if (!__atomic_load_n (&board->forgets, __ATOMIC_SEQ_CST))
    keep (fd, &status);
  return 0;
}

REPLACES int
fsync (int fd)
{
  return sync_fd (fd);
}

REPLACES int
fdatasync (int fd)
{
  return sync_fd (fd);
}
