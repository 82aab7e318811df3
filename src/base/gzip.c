/* gzip streams; see gzip.h.
 *
 * Mirrors GzipCompressionProvider. Threads: any; no lock.
 */
#include "base/gzip.h"

#include <gio/gio.h>
#include <string.h>

#define AT_A_TIME 1024

gboolean
curator_is_gzip (const void *data, gsize length)
{
  return length > 2 && memcmp (data, "\x1f\x8b", 2) == 0;
}

/* NULL if the converter refuses the input, leaves some of it, or produces more than limit bytes. */
static GBytes *
convert (GConverter *converter, const guint8 *data, gsize length, gsize limit)
{
  g_autoptr (GByteArray) whole = g_byte_array_new ();
  GConverterResult result = G_CONVERTER_CONVERTED;

  while (result != G_CONVERTER_FINISHED) {
    guint8 part[AT_A_TIME];
    gsize n_read = 0;
    gsize n_written = 0;
    result = g_converter_convert (converter, data, length, part, sizeof part,
                                  G_CONVERTER_INPUT_AT_END, &n_read, &n_written, NULL);
    if (result == G_CONVERTER_ERROR || n_written > limit - whole->len)
      return NULL;
    g_byte_array_append (whole, part, (guint) n_written);
    data += n_read;
    length -= n_read;
  }
  return length == 0 ? g_byte_array_free_to_bytes (g_steal_pointer (&whole)) : NULL;
}

GBytes *
curator_gzip (GBytes *plain)
{
  gsize length;
  const guint8 *data = g_bytes_get_data (plain, &length);
  g_autoptr (GZlibCompressor) compressor =
      g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1);
  return convert (G_CONVERTER (compressor), data, length, G_MAXUINT);
}

GBytes *
curator_gunzip (const void *data, gsize length, gsize limit)
{
  if (!curator_is_gzip (data, length))
    return NULL;
  g_autoptr (GZlibDecompressor) decompressor =
      g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP);
  return convert (G_CONVERTER (decompressor), data, length, limit);
}
