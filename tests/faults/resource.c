#include "resource.h"

#include "shared.h"

#include <sys/mman.h>

Resource *
resource_open (const char *directory)
{
  return shared_map (directory, "resource.cells", sizeof (Resource));
}

void
resource_close (Resource *resource)
{
  munmap (resource, sizeof *resource);
}

static gboolean
write_cell (guint64 *cell, guint64 token, gboolean fenced, guint64 *n_stale)
{
  guint64 before = shared_get (cell);
  do {
    if (fenced && token < before)
      return FALSE;
  } while (!__atomic_compare_exchange_n (cell, &before, token, FALSE, __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST));
  if (token < before)
    shared_add (n_stale, 1);
  return TRUE;
}

gboolean
resource_write (Resource *resource, guint lock, guint64 token)
{
  const guint i = lock % RESOURCE_LOCKS;
  const gboolean accepted = write_cell (&resource->fenced[i], token, TRUE, &resource->stale);
  if (!accepted)
    shared_add (&resource->refused, 1);
  write_cell (&resource->unfenced[i], token, FALSE, &resource->unfenced_stale);
  return accepted;
}
