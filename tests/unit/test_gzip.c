/* gzip of payloads: whole streams only, never more contents than asked for. */
#include "base/gzip.h"
#include "unit.h"

#include <string.h>
#include <sys/resource.h>

/* What Java's GZIPOutputStream writes for "__REVOKE__", and what GzipCompressionProvider of Curator
 * writes for no bytes. */
static const guint8 java_revoke[] = { 0x1f, 0x8b, 8,    0,    0,    0,    0,    0,    0,    0,
                                      0x8b, 0x8f, 0x0f, 0x72, 0x0d, 0xf3, 0xf7, 0x76, 0x8d, 0x8f,
                                      7,    0,    0xea, 0x2c, 0x89, 0xfb, 10,   0,    0,    0 };
static const guint8 java_empty[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff,
                                     3,    0,    0, 0, 0, 0, 0, 0, 0, 0 };

static GBytes *
gunzip (GBytes *packed, gsize limit)
{
  gsize length;
  const void *data = g_bytes_get_data (packed, &length);
  return curator_gunzip (data, length, limit);
}

TEST (test_there_and_back)
{
  static const gsize sizes[] = { 0, 1, 10, 1023, 1024, 1025, 4096, 100000 };
  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_autofree guint8 *random = g_malloc (sizes[i] + 1);
    for (gsize j = 0; j < sizes[i]; j++)
      random[j] = (guint8) g_random_int ();
    g_autoptr (GBytes) plain = g_bytes_new (random, sizes[i]);
    g_autoptr (GBytes) packed = curator_gzip (plain);
    g_autoptr (GBytes) again = gunzip (packed, sizes[i]);
    assert_non_null (again);
    assert_true (g_bytes_equal (plain, again));
    assert_true (curator_is_gzip (g_bytes_get_data (packed, NULL), g_bytes_get_size (packed)));
    assert_null (sizes[i] > 0 ? gunzip (packed, sizes[i] - 1) : NULL);
  }
}

TEST (test_java)
{
  g_autoptr (GBytes) empty = curator_gunzip (java_empty, sizeof java_empty, 0);
  assert_non_null (empty);
  assert_int_equal (g_bytes_get_size (empty), 0);
  g_autoptr (GBytes) revoke = curator_gunzip (java_revoke, sizeof java_revoke, 10);
  assert_non_null (revoke);
  assert_int_equal (g_bytes_get_size (revoke), 10);
  assert_memory_equal (g_bytes_get_data (revoke, NULL), "__REVOKE__", 10);
}

/* What is cut short, has one bit wrong, or is followed by something is no stream. Bits without a
 * meaning may differ: the time, extra flags and the system in the header, and the padding of the
 * last block. */
TEST (test_broken)
{
  g_autoptr (GBytes) plain = g_bytes_new_static ("__REVOKE__", 10);
  g_autoptr (GBytes) packed = curator_gzip (plain);
  int accepted = 0;
  gsize length;
  const guint8 *data = g_bytes_get_data (packed, &length);
  g_autofree guint8 *copy = g_malloc (length + 1);
  memcpy (copy, data, length);
  copy[length] = 0;
  assert_null (curator_gunzip (copy, length + 1, 4096));
  for (gsize cut = 0; cut < length; cut++)
    assert_null (curator_gunzip (copy, cut, 4096));
  for (gsize bit = 0; bit < 8 * length; bit++) {
    copy[bit / 8] ^= (guint8) (1 << bit % 8);
    g_autoptr (GBytes) other = curator_gunzip (copy, length, 4096);
    assert_true (other == NULL || g_bytes_equal (other, plain));
    accepted += other != NULL;
    copy[bit / 8] ^= (guint8) (1 << bit % 8);
  }
  assert_in_range (accepted, 1, 7 * 8 + 7);
}

/* 64 MiB of zeros in 64 KiB: refused after the first bytes. AddressSanitizer keeps what is freed,
 * so some memory may be in use afterwards. */
TEST (test_bomb)
{
  g_autofree guint8 *zeros = g_malloc0 (64 << 20);
  g_autoptr (GBytes) plain = g_bytes_new_static (zeros, 64 << 20);
  g_autoptr (GBytes) bomb = curator_gzip (plain);
  assert_true (g_bytes_get_size (bomb) < 128 << 10);
  struct rusage before;
  struct rusage after;
  getrusage (RUSAGE_SELF, &before);
  for (int i = 0; i < 20; i++)
    assert_null (gunzip (bomb, 4096));
  getrusage (RUSAGE_SELF, &after);
  assert_true (after.ru_maxrss - before.ru_maxrss < 8 << 10);
}

SUITE ("compression of payloads", NULL, NULL)
