#include "resource.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct
{
  guint64 token; /* of the last write */
  guint64 accepted;
  guint64 refused;
  guint64 stale;
  guint64 spare[4];
} Cell;

struct _Resource
{
  Cell fenced[RESOURCE_LOCKS];
  Cell unfenced[RESOURCE_LOCKS];
};

Resource *
resource_open (const char *directory)
{
  g_autofree char *path = g_build_filename (directory, "resource.cells", NULL);
  const int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *memory = MAP_FAILED;
  if (fd >= 0 && ftruncate (fd, sizeof (Resource)) == 0)
    memory = mmap (NULL, sizeof (Resource), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0)
    close (fd);
  return memory != MAP_FAILED ? memory : NULL;
}

void
resource_close (Resource *resource)
{
  munmap (resource, sizeof *resource);
}

static void
count (guint64 *counter)
{
  __atomic_fetch_add (counter, 1, __ATOMIC_SEQ_CST);
}

static gboolean
write_cell (Cell *cell, guint64 token, gboolean fenced)
{
  guint64 before = __atomic_load_n (&cell->token, __ATOMIC_SEQ_CST);
  do
    {
      if (fenced && token < before)
        {
          count (&cell->refused);
          return FALSE;
        }
    }
  while (!__atomic_compare_exchange_n (&cell->token, &before, token, FALSE, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST));
  count (&cell->accepted);
  if (token < before)
    count (&cell->stale);
  return TRUE;
}

gboolean
resource_write (Resource *resource, guint lock, guint64 token)
{
  return write_cell (&resource->fenced[lock % RESOURCE_LOCKS], token, TRUE);
}

gboolean
resource_write_unfenced (Resource *resource, guint lock, guint64 token)
{
  return write_cell (&resource->unfenced[lock % RESOURCE_LOCKS], token, FALSE);
}

guint64
resource_token (Resource *resource, guint lock)
{
  return __atomic_load_n (&resource->fenced[lock % RESOURCE_LOCKS].token, __ATOMIC_SEQ_CST);
}

void
resource_get_figures (Resource *resource, ResourceFigures *figures)
{
  *figures = (ResourceFigures){ 0 };
  for (int i = 0; i < RESOURCE_LOCKS; i++)
    {
      figures->accepted += __atomic_load_n (&resource->fenced[i].accepted, __ATOMIC_SEQ_CST);
      figures->refused += __atomic_load_n (&resource->fenced[i].refused, __ATOMIC_SEQ_CST);
      figures->stale += __atomic_load_n (&resource->fenced[i].stale, __ATOMIC_SEQ_CST);
      figures->unfenced += __atomic_load_n (&resource->unfenced[i].accepted, __ATOMIC_SEQ_CST);
      figures->unfenced_stale += __atomic_load_n (&resource->unfenced[i].stale, __ATOMIC_SEQ_CST);
    }
}
