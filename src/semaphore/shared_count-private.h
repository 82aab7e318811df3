/* Follows a SharedCount inside the library. Any thread; guarded by the client's mutex. */
#ifndef CURATOR_SHARED_COUNT_PRIVATE_H
#define CURATOR_SHARED_COUNT_PRIVATE_H

#include "client/client-private.h"
#include "curator/shared_count.h"

#include <string.h>

typedef struct _CuratorCountHook CuratorCountHook;

struct _CuratorCountHook
{
  GList link;
  /* Called with the client's mutex held. */
  void (*changed) (CuratorCountHook *hook, gint32 value);
};

CuratorClient *curator_shared_count_get_client (CuratorSharedCount *count);
/* changed runs for the current value, and for every later one. */
void curator_shared_count_add_hook (CuratorSharedCount *count,
                                    CuratorCountHook *hook) CURATOR_UNLOCKED;
void curator_shared_count_remove_hook (CuratorSharedCount *count,
                                       CuratorCountHook *hook) CURATOR_UNLOCKED;

/* The payload of the node: four bytes, the highest first. */
static inline GBytes *
curator_count_encode (gint32 value)
{
  const guint32 wire = GUINT32_TO_BE ((guint32) value);
  return g_bytes_new (&wire, sizeof wire);
}

/* FALSE for a payload that is too short. */
static inline gboolean
curator_count_decode (const char *data, gsize length, gint32 *value)
{
  guint32 wire;
  if (length < sizeof wire)
    {
      return FALSE;
    }
  memcpy (&wire, data, sizeof wire);
  *value = (gint32) GUINT32_FROM_BE (wire);
  return TRUE;
}

#endif
