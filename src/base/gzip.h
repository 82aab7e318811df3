/* gzip streams, as GzipCompressionProvider writes them. Threads: any; no lock. */
#pragma once

#include <glib.h>

/* Whether it begins as a gzip stream. */
gboolean curator_is_gzip (const void *data, gsize length);
GBytes *curator_gzip (GBytes *plain);
/* NULL unless data is one whole gzip stream of at most limit bytes of contents. It never writes
 * more than that, however much the stream would expand to. */
GBytes *curator_gunzip (const void *data, gsize length, gsize limit);
