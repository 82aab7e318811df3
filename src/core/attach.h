/* What upper layers keep with a client or a session, whose records know nothing of it. */
#pragma once

#include "base/guards.h"

#include <glib.h>

typedef struct _CuratorAttachment CuratorAttachment;

/* One for each owner, which alone knows it. */
typedef struct
{
  gsize size;
  /* Called when no other thread knows the client or session any more. May be NULL. */
  void (*clear) (gpointer data);
} CuratorAttachmentType;

/* The owner's data: all zero at first. */
gpointer curator_attached (CuratorAttachment **attached,
                           const CuratorAttachmentType *type) CURATOR_LOCKED;
void curator_attached_free (CuratorAttachment *attached);
/* The clear of a GHashTable *. */
void curator_attached_clear_table (gpointer table);
