/* How long an address may take; see patience.h. Threads: any; no lock. */
#include "channel/patience.h"

#define CONNECT_US  (250 * 1000)
#define ANSWERS_US  (600 * 1000) /* for all of the minority, and CONNECT_US for each */
#define MOST_DOUBLE 8

gint64
curator_patience_connect_us (const CuratorPatience *spent, guint n_addresses)
{
  const guint n_rounds = spent->n_unconnected / MAX (n_addresses, 1);
  return (gint64) CONNECT_US << MIN (n_rounds, MOST_DOUBLE);
}

gint64
curator_patience_answer_us (const CuratorPatience *spent, guint n_addresses)
{
  if (n_addresses < 2)
    return G_MAXINT64;
  const guint minority = MAX ((n_addresses - 1) / 2, 1);
  const guint n_more = spent->n_unanswered > minority ? spent->n_unanswered - minority : 0;
  return (gint64) (CONNECT_US + ANSWERS_US / minority) << MIN (n_more, MOST_DOUBLE);
}
