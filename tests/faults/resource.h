/* The resource that the locks protect: for each lock a cell that remembers the highest fencing
 * token and refuses lower ones, and a twin that accepts every write. All processes of a history map
 * the same file, and a stopped process does not block the writes of others. */
#ifndef CURATOR_TEST_RESOURCE_H
#define CURATOR_TEST_RESOURCE_H

#include <glib.h>

#define RESOURCE_LOCKS 64

typedef struct _Resource Resource;

typedef struct
{
  guint64 accepted;
  guint64 refused;
  guint64 stale;          /* accepted after a higher token */
  guint64 unfenced;       /* writes to the twin */
  guint64 unfenced_stale; /* those that overwrote what a later holder had written */
} ResourceFigures;

Resource *resource_open (const char *directory); /* NULL if it cannot be mapped */
void resource_close (Resource *resource);

/* TRUE if the fenced cell accepted it. */
gboolean resource_write (Resource *resource, guint lock, guint64 token);
gboolean resource_write_unfenced (Resource *resource, guint lock, guint64 token);

/* The token of the last write that the fenced cell accepted; 0 if there was none. */
guint64 resource_token (Resource *resource, guint lock);

void resource_get_figures (Resource *resource, ResourceFigures *figures);

#endif
