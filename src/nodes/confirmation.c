/* Waits for the end of a release, or until the wait is cancelled.
 *
 * Mirrors nothing: Curator's releases cannot be given up. Threads: the one that waits, the one that
 * brings the result and the one that cancels. The first of the latter two, by an atomic, ends the
 * wait; the record stays for the other one.
 */
#include "nodes/confirmation.h"

#include "base/fork_gate.h"
#include "core/await.h"

struct _CuratorConfirmation
{
  CuratorRefs refs; /* the waiting call's, the release's, the cancellable's */
  gint has_ended;   /* atomic */
  CuratorAwait await;
};

static void
confirmation_unref (gpointer data)
{
  CuratorConfirmation *confirmation = data;
  if (curator_refs_dec (&confirmation->refs))
    g_free (confirmation);
}

static void
end (CuratorConfirmation *confirmation, const GError *error)
{
  if (g_atomic_int_compare_and_exchange (&confirmation->has_ended, FALSE, TRUE))
    curator_await_signal (&confirmation->await, NULL, error);
}

CuratorConfirmation *
curator_confirmation_new (CuratorClient *client)
{
  CuratorConfirmation *confirmation = g_new0 (CuratorConfirmation, 1);
  curator_refs_init (&confirmation->refs);
  curator_refs_inc (&confirmation->refs);
  curator_await_init (&confirmation->await, client);
  return confirmation;
}

void
curator_confirmation_done (const GError *error, gpointer confirmation)
{
  end (confirmation, error);
  confirmation_unref (confirmation);
}

static void
on_cancelled (GCancellable *cancellable, gpointer data)
{
  CuratorConfirmation *confirmation = data;
  g_autoptr (GError) error =
      g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED,
                           "the wait for a release was cancelled; the release goes on");

  /* Shows ThreadSanitizer the hand-over, which GCancellable does out of its sight. */
  g_assert (g_atomic_int_get (&confirmation->refs) > 0);
  /* And that the thread that disconnects waits for this. */
  curator_refs_inc (&confirmation->refs);
  end (confirmation, error);
  confirmation_unref (confirmation);
}

gboolean
curator_confirmation_await (CuratorConfirmation *confirmation, GCancellable *cancellable,
                            GError **error)
{
  CURATOR_INSIDE_GATE;
  gulong handler = 0;

  if (cancellable != NULL && !g_atomic_int_get (&confirmation->has_ended))
    {
      curator_refs_inc (&confirmation->refs);
      handler = g_cancellable_connect (cancellable, G_CALLBACK (on_cancelled), confirmation,
                                       confirmation_unref);
    }
  const gboolean confirmed = curator_await_finish (&confirmation->await, NULL, error);
  if (handler != 0)
    g_cancellable_disconnect (cancellable, handler);
  confirmation_unref (confirmation);
  return confirmed;
}
