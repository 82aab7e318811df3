/* A number at the start of each object of the public API, so that an object of another kind is
 * refused with a critical message instead of being read as what it is not.
 *
 * The check is one load and one comparison. Threads: any; a tag changes only when nobody else can
 * know the object.
 */
#pragma once

#include "base/refs.h"
#include "curator/error.h"

#include <gio/gio.h>
#include <string.h>

/* "Cur" and the kind. Odd, as no pointer at the start of an object of another library is. */
#define CURATOR_TAG_OF_KIND(kind) (0x43757201U + 2U * (kind))
#define CURATOR_TAG_KINDS         16U

typedef guint32 CuratorTag; /* the first field of an object */

#define CURATOR_TAG_CLIENT             CURATOR_TAG_OF_KIND (0U)
#define CURATOR_TAG_LOCK               CURATOR_TAG_OF_KIND (1U)
#define CURATOR_TAG_LEASE              CURATOR_TAG_OF_KIND (2U)
#define CURATOR_TAG_LOCK_DRIVER        CURATOR_TAG_OF_KIND (3U)
#define CURATOR_TAG_NODE_REQUEST       CURATOR_TAG_OF_KIND (4U)
#define CURATOR_TAG_SEMAPHORE          CURATOR_TAG_OF_KIND (5U)
#define CURATOR_TAG_SHARED_COUNT       CURATOR_TAG_OF_KIND (6U)
#define CURATOR_TAG_RW_LOCK            CURATOR_TAG_OF_KIND (7U)
#define CURATOR_TAG_LEADER_SELECTOR    CURATOR_TAG_OF_KIND (8U)
#define CURATOR_TAG_LEADER_LATCH       CURATOR_TAG_OF_KIND (9U)
#define CURATOR_TAG_LEADER_PARTICIPANT CURATOR_TAG_OF_KIND (10U)
#define CURATOR_TAG_INSPECTION         CURATOR_TAG_OF_KIND (11U)
#define CURATOR_TAG_PARTICIPANT        CURATOR_TAG_OF_KIND (12U)
#define CURATOR_TAG_RETRY_POLICY       CURATOR_TAG_OF_KIND (13U)
#define CURATOR_TAG_TLS                CURATOR_TAG_OF_KIND (14U)
#define CURATOR_TAG_TRACE_EVENT        CURATOR_TAG_OF_KIND (15U)

static inline gboolean
curator_has_tag (gconstpointer object, CuratorTag tag)
{
  return object != NULL && *(const CuratorTag *) object == tag;
}

#define CURATOR_IS_CLIENT(object)          curator_has_tag ((object), CURATOR_TAG_CLIENT)
#define CURATOR_IS_LOCK(object)            curator_has_tag ((object), CURATOR_TAG_LOCK)
#define CURATOR_IS_LEASE(object)           curator_has_tag ((object), CURATOR_TAG_LEASE)
#define CURATOR_IS_LOCK_DRIVER(object)     curator_has_tag ((object), CURATOR_TAG_LOCK_DRIVER)
#define CURATOR_IS_NODE_REQUEST(object)    curator_has_tag ((object), CURATOR_TAG_NODE_REQUEST)
#define CURATOR_IS_SEMAPHORE(object)       curator_has_tag ((object), CURATOR_TAG_SEMAPHORE)
#define CURATOR_IS_SHARED_COUNT(object)    curator_has_tag ((object), CURATOR_TAG_SHARED_COUNT)
#define CURATOR_IS_RW_LOCK(object)         curator_has_tag ((object), CURATOR_TAG_RW_LOCK)
#define CURATOR_IS_LEADER_SELECTOR(object) curator_has_tag ((object), CURATOR_TAG_LEADER_SELECTOR)
#define CURATOR_IS_LEADER_LATCH(object)    curator_has_tag ((object), CURATOR_TAG_LEADER_LATCH)
#define CURATOR_IS_LEADER_PARTICIPANT(object)                                                      \
  curator_has_tag ((object), CURATOR_TAG_LEADER_PARTICIPANT)
#define CURATOR_IS_INSPECTION(object)   curator_has_tag ((object), CURATOR_TAG_INSPECTION)
#define CURATOR_IS_PARTICIPANT(object)  curator_has_tag ((object), CURATOR_TAG_PARTICIPANT)
#define CURATOR_IS_RETRY_POLICY(object) curator_has_tag ((object), CURATOR_TAG_RETRY_POLICY)
#define CURATOR_IS_TLS(object)          curator_has_tag ((object), CURATOR_TAG_TLS)
#define CURATOR_IS_TRACE_EVENT(object)  curator_has_tag ((object), CURATOR_TAG_TRACE_EVENT)

/* An object of another library, or NULL: at least none of ours. */
static inline gboolean
curator_is_foreign (gconstpointer object)
{
  CuratorTag start = 0;
  if (object != NULL)
    memcpy (&start, object, sizeof start); /* whatever its type is */
  return start - CURATOR_TAG_OF_KIND (0U) >= 2U * CURATOR_TAG_KINDS;
}

/* An array, and all that it holds is of one kind. */
static inline gboolean
curator_is_array_of (const GPtrArray *array, CuratorTag tag)
{
  if (array == NULL || !curator_is_foreign (array))
    return FALSE;
  for (guint i = 0; i < array->len; i++)
    if (!curator_has_tag (array->pdata[i], tag))
      return FALSE;
  return TRUE;
}

/* Also NULL. */
static inline gboolean
curator_is_cancellable (GCancellable *cancellable)
{
  return cancellable == NULL
         || (curator_is_foreign (cancellable) && G_IS_CANCELLABLE (cancellable));
}

/* The start of a public function, which returns value, with a critical, if it is not called as
 * expected. */
#define CURATOR_CHECK(expected, words, value)                                                      \
  if (G_UNLIKELY (!(expected))) {                                                                  \
    g_return_if_fail_warning (G_LOG_DOMAIN, G_STRFUNC, words);                                     \
    return value;                                                                                  \
  }
#define CURATOR_CHECK_CALL(expected, error, value)                                                 \
  CURATOR_CHECK (expected, #expected, value)                                                       \
  g_return_val_if_fail ((error) == NULL || *(error) == NULL, value)
/* The same if it may wait. */
#define CURATOR_CHECK_WAITING(expected, cancellable, error, value)                                 \
  CURATOR_CHECK (expected, #expected, value)                                                       \
  g_return_val_if_fail (curator_is_cancellable (cancellable), value);                              \
  g_return_val_if_fail ((error) == NULL || *(error) == NULL, value)

/* FALSE, with an error. */
#define CURATOR_REFUSE(error, code, ...)                                                           \
  (g_set_error (error, CURATOR_ERROR, code, __VA_ARGS__), FALSE)
/* A type takes no parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
/* The public function that returns a field of an object; value: of what is no such object. */
#define CURATOR_GETTER(Result, name, Type, TAG, field, value)                                      \
  Result name (Type *object)                                                                       \
  {                                                                                                \
    g_return_val_if_fail (CURATOR_IS_##TAG (object), value);                                       \
    return object->field;                                                                          \
  }
/* The public function that takes a reference. */
#define CURATOR_REF_FUNC(name, Type, TAG)                                                          \
  Type *name (Type *object)                                                                        \
  {                                                                                                \
    g_return_val_if_fail (CURATOR_IS_##TAG (object), NULL);                                        \
    curator_refs_inc (&object->refs);                                                              \
    return object;                                                                                 \
  }
/* NOLINTEND(bugprone-macro-parentheses) */

/* Called before an object is freed, so that its address is no object any more. */
static inline void
curator_tag_clear (gpointer object)
{
  *(CuratorTag *) object = 0;
}
