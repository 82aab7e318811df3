/* The links between the members of an ensemble: a cut affects both ports, and heals. */
#define SUITE_FIXTURE ZkEnsemble *ensemble
#include "raw_zk.h"
#include "support/four_letter.h"
#include "support/suite.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <string.h>

#define PATIENCE_MS 60000

typedef struct
{
  ZkEnsemble *ensemble;
  int member;
  const char *mode; /* part of the answer to "srvr"; NULL: does not serve */
} Wanted;

static gboolean
is_so (gpointer data)
{
  Wanted *wanted = data;
  ZkServer *server = zk_ensemble_server (wanted->ensemble, wanted->member);
  g_autofree char *answer = four_letter (zk_server_address (server), "srvr", 500);
  const char *mode = answer != NULL ? strstr (answer, "Mode: ") : NULL;
  return wanted->mode == NULL ? answer != NULL && mode == NULL
                              : mode != NULL && g_str_has_prefix (mode + 6, wanted->mode);
}

static gboolean
becomes (ZkEnsemble *ensemble, int member, const char *mode)
{
  Wanted wanted = { ensemble, member, mode };
  return wait_until (is_so, &wanted, PATIENCE_MS);
}

static int
new_leader (ZkEnsemble *ensemble, int old)
{
  const gint64 deadline = wait_now_ms () + PATIENCE_MS;
  while (wait_now_ms () < deadline) {
    for (int i = 0; i < 3; i++) {
      Wanted wanted = { ensemble, i, "leader" };
      if (i != old && is_so (&wanted))
        return i;
    }
  }
  return -1;
}

static void
assert_writable (ZkEnsemble *ensemble, int member, const char *path)
{
  g_autoptr (RawZk) raw = raw_zk_open (zk_server_address (zk_ensemble_server (ensemble, member)));
  assert_non_null (raw);
  assert_int_equal (raw_zk_make_path (raw, path), ZOK);
}

TEST (test_silence_and_refusal)
{
  ZkLinks *links = zk_ensemble_links (ensemble);
  int leader = -1;
  assert_true (holds_within ((leader = zk_ensemble_leader (ensemble)) >= 0, PATIENCE_MS));
  const int follower = (leader + 1) % 3;

  zk_links_set_all (links, follower, PROXY_HOLE);
  assert_true (becomes (ensemble, follower, NULL));
  assert_writable (ensemble, leader, "/by-two");
  zk_links_heal (links);
  assert_true (becomes (ensemble, follower, "follower"));

  zk_links_set_all (links, leader, PROXY_REFUSE);
  const int next = new_leader (ensemble, leader);
  assert_true (next >= 0);
  assert_writable (ensemble, next, "/by-the-other-two");
  assert_true (becomes (ensemble, leader, NULL));
  zk_links_heal (links);
  assert_true (becomes (ensemble, leader, "follower"));
}

TEST (test_mute_and_slow)
{
  ZkLinks *links = zk_ensemble_links (ensemble);
  int leader = -1;
  assert_true (holds_within ((leader = zk_ensemble_leader (ensemble)) >= 0, PATIENCE_MS));
  const int follower = (leader + 1) % 3;

  zk_links_delay (links, leader, follower, 100);
  const gint64 before = wait_now_ms ();
  assert_writable (ensemble, follower, "/slow");
  assert_true (wait_now_ms () - before >= 200);
  zk_links_heal (links);

  /* The follower receives from its leader, but its own messages reach no member. */
  zk_links_mute (links, follower, leader);
  zk_links_mute (links, follower, (leader + 2) % 3);
  assert_true (becomes (ensemble, follower, NULL));
  zk_links_heal (links);
  assert_true (becomes (ensemble, follower, "follower"));
}

static int
start (void **state)
{
  const ZkEnsembleSetup setup = { .tick_ms = 500, .sync_limit = 12, .by_links = TRUE };
  *state = zk_server_available () ? zk_ensemble_start_as (&setup) : NULL;
  return *state != NULL ? 0 : -1;
}

static int
stop (void **state)
{
  zk_ensemble_stop (*state);
  return 0;
}

SUITE ("links", start, stop)
