/* The order of what happens to a command without answers, for every session timeout; and the table
 * of it in the documents, which this test computes. Pure. */
#include "base/moments.h"
#include "support/suite.h"
#include "timeline.h"

#include <stdio.h>
#include <string.h>

TEST (moments_are_in_order)
{
  for (gint64 session_ms = 2000; session_ms <= 120000; session_ms += 100) {
    for (gint64 kill_after_ms = 0; kill_after_ms <= 10000; kill_after_ms += 500) {
      const gint64 most_ms = timeline_proven_ms (session_ms);
      const Moments moments = moments_of (session_ms, kill_after_ms, most_ms);
      assert_true (moments.kill > 0);
      assert_true (moments.term >= moments.kill);
      assert_true (moments.doubt >= moments.term);
      /* A heartbeat that is in time causes no doubt, unless TERM itself came before it. */
      assert_true (moments.doubt == moments.term || moments.doubt < most_ms - session_ms / 6);
      /* Where there is room before TERM, there is a moment of doubt. */
      assert_true (most_ms - session_ms / 6 - moments.term < 2 || moments.doubt > moments.term);
    }
  }
}

TEST (the_table_in_the_documents)
{
  static const int sessions[] = { 4, 6, 10, 20, 30, 60 };
  g_autofree char *page = NULL;

  assert_true (g_file_get_contents (CURATOR_SOURCE_DIR "/docs/zkflock.md", &page, NULL, NULL));
  for (gsize i = 0; i < G_N_ELEMENTS (sessions); i++) {
    const Timeline row_ms = timeline_of (sessions[i]);
    const gint64 values[] = { row_ms.doubt_ms, row_ms.term_ms,  row_ms.kill_ms,
                              row_ms.end_ms,   row_ms.grant_ms, row_ms.survived_ms };
    g_autoptr (GString) row = g_string_new (NULL);

    g_string_append_printf (row, "| %d s |", sessions[i]);
    for (gsize k = 0; k < G_N_ELEMENTS (values); k++)
      g_string_append_printf (row, " %d.%d s |", (int) ((values[k] + 50) / 1000),
                              (int) ((values[k] + 50) / 100 % 10));
    if (strstr (page, row->str) == NULL)
      fail_msg ("docs/zkflock.md lacks the row %s", row->str);
  }
}

SUITE ("moments", NULL, NULL)
