/* The resource that the locks protect: for each lock a cell that remembers the highest fencing
 * token and refuses lower ones, and a twin that accepts every write. All processes of a history map
 * the same file, and a stopped process does not block the writes of others. */
#pragma once

#include <glib.h>

#define RESOURCE_LOCKS 64

/* Atomic, as long as there are other processes. */
typedef struct
{
  guint64 fenced[RESOURCE_LOCKS]; /* the token of the last write */
  guint64 unfenced[RESOURCE_LOCKS];
  guint64 refused;
  guint64 stale;          /* accepted after a higher token */
  guint64 unfenced_stale; /* writes to the twin that overwrote what a later holder had written */
} Resource;

Resource *resource_open (const char *directory); /* NULL if it cannot be mapped */
void resource_close (Resource *resource);

/* To the cell and its twin. TRUE if the fenced cell accepted it. */
gboolean resource_write (Resource *resource, guint lock, guint64 token);
