/* How long an address may take, and be silent; see patience.h. Threads: any; no lock. */
#include "channel/patience.h"

#include "base/lease_math.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#define CONNECT_US  (250 * 1000)
#define ANSWERS_US  (600 * 1000) /* for all of the minority, and CONNECT_US for each */
#define MOST_DOUBLE 8

gint64
curator_patience_connect_us (const CuratorPatience *spent, guint n_addresses)
{
  const guint n_rounds = spent->n_unconnected / MAX (n_addresses, 1);
  return (gint64) CONNECT_US << MIN (n_rounds, MOST_DOUBLE);
}

static guint
minority_of (guint n_addresses)
{
  return n_addresses > 2 ? (n_addresses - 1) / 2 : 1;
}

gint64
curator_patience_answer_us (const CuratorPatience *spent, guint n_addresses)
{
  if (n_addresses < 2)
    return G_MAXINT64;
  const guint minority = minority_of (n_addresses);
  const guint n_more = spent->n_unanswered > minority ? spent->n_unanswered - minority : 0;
  return (gint64) (CONNECT_US + ANSWERS_US / minority) << MIN (n_more, MOST_DOUBLE);
}

gint64
curator_patience_away_us (guint n_addresses)
{
  return (gint64) minority_of (n_addresses) * CONNECT_US;
}

static gboolean
look (int sock, struct tcp_info *info)
{
  socklen_t length = sizeof *info;
  return getsockopt (sock, IPPROTO_TCP, TCP_INFO, info, &length) == 0;
}

void
curator_patience_bind (int sock, int session_timeout_ms)
{
  struct tcp_info info = { 0 };

  if (!look (sock, &info))
    return;
  const guint most_ms =
      (guint) (curator_lease_unacked_us ((gint64) session_timeout_ms * 1000, info.tcpi_rto) / 1000);
  setsockopt (sock, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof most_ms);
}

gboolean
curator_patience_is_over (int sock, gint64 silent_us)
{
  struct pollfd answer = { .fd = sock, .events = POLLIN };
  struct tcp_info info = { 0 };

  return look (sock, &info) && info.tcpi_unacked == 0
         && (gint64) info.tcpi_last_data_recv * 1000 >= silent_us && poll (&answer, 1, 0) == 0;
}
