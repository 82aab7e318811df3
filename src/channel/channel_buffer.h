/* A buffer of fixed size between two sockets. Used by one thread; no lock. */
#pragma once

#include <glib.h>
#include <string.h>

#define CURATOR_BUFFER_SIZE (64 * 1024)

typedef struct
{
  guint8 bytes[CURATOR_BUFFER_SIZE];
  gsize start;
  gsize end;
} CuratorBuffer;

static inline gsize
curator_buffer_length (const CuratorBuffer *buffer)
{
  return buffer->end - buffer->start;
}

static inline const guint8 *
curator_buffer_data (const CuratorBuffer *buffer)
{
  return buffer->bytes + buffer->start;
}

static inline void
curator_buffer_consume (CuratorBuffer *buffer, gsize n)
{
  buffer->start += n;
  if (buffer->start == buffer->end)
    buffer->start = buffer->end = 0;
}

/* The free space at the end, which is made contiguous. */
static inline gsize
curator_buffer_room (CuratorBuffer *buffer)
{
  g_assert (buffer->start <= buffer->end && buffer->end <= CURATOR_BUFFER_SIZE);
  if (buffer->start > 0 && buffer->end == CURATOR_BUFFER_SIZE) {
    buffer->end -= buffer->start;
    memmove (buffer->bytes, buffer->bytes + buffer->start, buffer->end);
    buffer->start = 0;
  }
  return CURATOR_BUFFER_SIZE - buffer->end;
}
