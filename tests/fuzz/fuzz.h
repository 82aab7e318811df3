/* Shared by the fuzz targets: libFuzzer's entry point and the input as text. */
#pragma once

#include <glib.h>

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* The input up to its first zero byte, in a block of exactly that size, so that an overrun is
 * detected. */
static inline char *
fuzz_text (const uint8_t *data, size_t size)
{
  return g_strndup ((const char *) data, size);
}
