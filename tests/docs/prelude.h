/* What the code in the documentation may take for granted: headers, and for fragments, which are
 * wrapped in a function, the usual variables and two functions of the reader's own. */
#include <curator/curator.h>

#include <glib-unix.h>
#include <stdio.h>
#include <string.h>

G_GNUC_UNUSED static void
write_row (int row)
{
}

G_GNUC_UNUSED static void
write_row_fenced (int row, guint64 token)
{
}

#ifdef __cplusplus
using namespace std::chrono_literals;

static inline void
write_result (guint64 token)
{
}
#endif

#define FRAGMENT_BEGIN                                                                             \
  gboolean fragment (CuratorClient *client, CuratorLock *lock, CuratorLease *lease,                \
                     GError **error);                                                              \
  gboolean fragment (CuratorClient *client, CuratorLock *lock, CuratorLease *lease,                \
                     GError **error)                                                               \
  {
#define FRAGMENT_END                                                                               \
  return TRUE;                                                                                     \
  }
