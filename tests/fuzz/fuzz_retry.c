/* Retry policies with any numbers: no sleep is negative or longer than allowed, retries end at the
 * limit, and no arithmetic overflows. */
#include "fuzz.h"

#include "retry/retry_policy.h"

typedef struct
{
  gint64 sleep_ms;
  gint64 limit_ms;
  gint64 elapsed_ms;
  guint32 n;
  guint32 retry_count;
  guint8 kind;
} Input;

static void
check_exponential (CuratorRetryPolicy *policy, const Input *in)
{
  const gint64 base = CLAMP (in->sleep_ms, 0, G_MAXINT32);
  const gint64 most = CLAMP (in->limit_ms, 0, G_MAXINT32);
  const guint count = in->retry_count;
  gint64 sleep_ms = -1;

  g_assert_true (curator_retry_policy_seed (policy, (guint32) in->elapsed_ms));
  const gboolean again =
      curator_retry_policy_allow_retry (policy, in->retry_count, in->elapsed_ms, &sleep_ms);
  g_assert_true (again == (count < MIN (in->n, 29)));
  g_assert_true (sleep_ms >= 0 && sleep_ms <= most);
  if (again)
    {
      g_assert_true (sleep_ms >= MIN (base, most));
      g_assert_true (sleep_ms <= base << (count + 1));
    }
}

static void
check_sleeping (CuratorRetryPolicy *policy, const Input *in)
{
  gint64 sleep_ms = -1;
  const gboolean again =
      curator_retry_policy_allow_retry (policy, in->retry_count, in->elapsed_ms, &sleep_ms);
  const guint count = in->retry_count;

  g_assert_true (sleep_ms == 0 || sleep_ms == MAX (in->sleep_ms, in->kind == 4 ? 1 : 0));
  g_assert_true (in->kind != 1 || again == (count < in->n));
  g_assert_true (in->kind != 2 || again == (count < 1));
  g_assert_true (in->kind != 3
                 || again == (count < G_MAXINT && MAX (in->elapsed_ms, 0) < in->limit_ms));
  g_assert_true (in->kind != 4 || again);
}

static void
be_silent (const char *domain, GLogLevelFlags level, const char *message, gpointer user_data)
{
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  Input in = { 0 };
  memcpy (&in, data, MIN (size, sizeof in));
  in.kind %= 5;
  /* Policies warn of arguments out of range and clamp them. */
  g_log_set_default_handler (be_silent, NULL);
  g_autoptr (CuratorRetryPolicy) policy =
      in.kind == 0
          ? curator_retry_policy_new_bounded_exponential_backoff (in.sleep_ms, in.limit_ms, in.n)
      : in.kind == 1 ? curator_retry_policy_new_n_times (in.n, in.sleep_ms)
      : in.kind == 2 ? curator_retry_policy_new_one_time (in.sleep_ms)
      : in.kind == 3 ? curator_retry_policy_new_until_elapsed (in.limit_ms, in.sleep_ms)
                     : curator_retry_policy_new_forever (in.sleep_ms);

  if (in.kind == 0)
    check_exponential (policy, &in);
  else
    check_sleeping (policy, &in);
  return 0;
}
