/* A list of what upper floors have attached to a client or a session.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex. There are few
 * attachments.
 */
#include "core/attach.h"

struct _CuratorAttachment
{
  CuratorAttachment *next;
  const CuratorAttachmentType *type;
  gint64 data[];
};

gpointer
curator_attached (CuratorAttachment **attached, const CuratorAttachmentType *type)
{
  CuratorAttachment *one = *attached;

  while (one != NULL && one->type != type)
    one = one->next;
  if (one == NULL) {
    one = g_malloc0 (sizeof *one + type->size);
    one->next = *attached;
    one->type = type;
    *attached = one;
  }
  return one->data;
}

void
curator_attached_free (CuratorAttachment *attached)
{
  while (attached != NULL) {
    CuratorAttachment *next = attached->next;
    if (attached->type->clear != NULL)
      attached->type->clear (attached->data);
    g_free (attached);
    attached = next;
  }
}

void
curator_attached_clear_table (gpointer table)
{
  g_clear_pointer ((GHashTable **) table, g_hash_table_unref);
}
