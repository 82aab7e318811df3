/* Never more permits than the limit, even while the limit changes.
 *
 * A client may learn of a new limit late. A grant is judged by the highest limit since the oldest
 * that it or another holder knew when it called.
 */
#include "sim_contender.h"

#define COUNT_PATH "/sim/count"
#define MAX_SIZE   3

typedef struct
{
  int size;
  gboolean changes;
} Sizes;

typedef struct
{
  CuratorSemaphore *semaphore;
  CuratorSharedCount *count; /* NULL if the size is fixed */
  gboolean starting;
  gboolean started;
} Permits;

static Permits *
permits_of (SimContender *contender)
{
  return contender->member->data;
}

/* An operator raises the limit: a call for more permits than the limit succeeds in the end. */
static void
enlarge (gpointer data)
{
  SimContest *contest = data;

  for (int i = 0; i < 30 && sim_contest_goes_on (contest); i++) {
    sim_sleep_ms (contest->world, 20 * 1000);
    sim_world_set_number (contest->world, COUNT_PATH, MAX_SIZE);
  }
}

static void
set_up (SimContest *contest)
{
  GRand *rand = contest->world->rand;
  Sizes *sizes = g_new (Sizes, 1);

  sizes->size = g_rand_int_range (rand, 1, MAX_SIZE + 1);
  sizes->changes = g_rand_int_range (rand, 0, 3) == 0;
  contest->data = sizes;
  if (sizes->changes)
    sim_actor_new (contest->world, NULL, "enlarger", enlarge, contest);
}

static void
on_revocation (CuratorSemaphore *semaphore, CuratorLease *lease, gpointer data)
{
  SimMember *member = data;

  sim_trace (member->world, "%s: revocation of %s requested", member->process->name,
             curator_lease_get_node_name (lease));
}

static void
open_semaphore (SimMember *member)
{
  const char *path = member->contest->recipe->path;
  Sizes *sizes = member->contest->data;
  Permits *permits = g_new0 (Permits, 1);

  if (sizes->changes) {
    permits->count = curator_shared_count_new (member->client, COUNT_PATH, sizes->size, NULL);
    permits->semaphore =
        curator_semaphore_new_with_shared_count (member->client, path, permits->count, NULL);
  } else {
    permits->semaphore = curator_semaphore_new (member->client, path, sizes->size, NULL);
  }
  if (g_rand_int_range (member->world->rand, 0, 4) == 0) {
    G_GNUC_UNUSED const gboolean revocable =
        curator_semaphore_make_revocable (permits->semaphore, on_revocation, member, NULL, NULL);
  }
  member->data = permits;
}

/* A shared count keeps its watch while a semaphore follows it. */
static void
stop_count (SimMember *member)
{
  Permits *permits = member->data;

  if (permits->count != NULL)
    curator_shared_count_close (permits->count);
}

static void
close_semaphore (SimMember *member)
{
  Permits *permits = member->data;

  curator_semaphore_unref (permits->semaphore);
  g_clear_pointer (&permits->count, curator_shared_count_unref);
  g_free (permits);
}

/* --- the limit ----------------------------------------------------------------------------- */

/* Until the count is followed its limit stays at the initial value, and a call for more would never
 * return. */
static gboolean
start_count (SimContender *contender)
{
  Permits *permits = permits_of (contender);
  g_autoptr (GError) error = NULL;

  if (permits->count == NULL || permits->started)
    return TRUE;
  if (permits->starting) {
    sim_sleep_ms (contender->world, 100);
    return permits->started;
  }
  permits->starting = TRUE;
  permits->started =
      curator_shared_count_start (permits->count, CURATOR_WAIT_DEFAULT, NULL, &error);
  permits->starting = FALSE;
  sim_trace (contender->world, "%s: following the shared count: %s", contender->name,
             error == NULL ? "yes" : error->message);
  return permits->started;
}

static void
resize (SimContender *contender)
{
  Permits *permits = permits_of (contender);
  g_autoptr (GError) error = NULL;
  gint32 number = 1 + (gint32) sim_contender_below (contender, MAX_SIZE);
  gint32 version = 0;

  if (!permits->started || sim_contender_below (contender, 4) != 0)
    return;
  const gboolean by_version =
      sim_contender_below (contender, 2) == 0
      && curator_shared_count_get_versioned (permits->count, NULL, &version);
  G_GNUC_UNUSED const gboolean changed =
      by_version
          ? curator_shared_count_try_set (permits->count, version, number, NULL,
                                          CURATOR_WAIT_DEFAULT, NULL, &error)
          : curator_shared_count_set (permits->count, number, CURATOR_WAIT_DEFAULT, NULL, &error);
  sim_trace (contender->world, "%s: resizing to %d: %s", contender->name, number,
             error == NULL ? "yes" : error->message);
  if (error != NULL && contender->contest->rules.calm)
    sim_contender_fail (contender, "resizing failed: %s", error->message);
}

static gint32
known_version (SimContender *contender)
{
  gint32 version = -1;

  if (permits_of (contender)->count != NULL)
    curator_shared_count_get_versioned (permits_of (contender)->count, NULL, &version);
  return version;
}

static guint
limit_since (SimContender *contender, gint32 version)
{
  const Sizes *sizes = contender->contest->data;
  gint32 limit = version < 0 ? sizes->size : 0;

  if (!sizes->changes)
    return (guint) sizes->size;
  g_autoptr (GArray) numbers = sim_world_numbers (contender->world, COUNT_PATH);
  for (guint i = (guint) MAX (version, 0); i < numbers->len; i++)
    limit = MAX (limit, g_array_index (numbers, gint32, i));
  return (guint) limit;
}

/* --- acquiring ------------------------------------------------------------------------------- */

typedef struct
{
  SimContender *contender;
  gint32 version; /* of the limit when it called */
} Call;

static void
judge (const Call *call, GPtrArray *leases, const GError *error)
{
  SimContender *contender = call->contender;

  sim_contender_judge (contender, error);
  contender->result = leases;
  if (leases == NULL)
    return;
  const guint limit = limit_since (contender, call->version);
  for (guint i = 0; i < leases->len; i++)
    contender->beliefs[i] =
        sim_contender_believe (contender, 0, leases->pdata[i], SIM_HOLD_PERMIT,
                               curator_lease_get_fencing_token (leases->pdata[i]), limit);
}

static void
on_acquired (CuratorSemaphore *semaphore, GPtrArray *leases, const GError *error, gpointer data)
{
  const Call *call = data;

  judge (call, leases, error);
  sim_contender_tell (call->contender);
}

static GPtrArray *
acquire (SimContender *contender, int n)
{
  CuratorSemaphore *semaphore = permits_of (contender)->semaphore;
  Call call = { .contender = contender, .version = known_version (contender) };
  g_autoptr (GError) error = NULL;
  GPtrArray *leases = NULL;

  sim_contender_begin_call (contender);
  if (sim_contender_below (contender, 3) == 0) {
    contender->told = FALSE;
    curator_semaphore_acquire_n_then (semaphore, n, contender->timeout_ms, contender->cancellable,
                                      on_acquired, &call);
    sim_contender_wait (contender);
    return contender->result;
  }
  if (n == 1) {
    CuratorLease *lease = curator_semaphore_acquire (semaphore, contender->timeout_ms,
                                                     contender->cancellable, &error);

    if (lease != NULL) {
      leases = g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);
      g_ptr_array_add (leases, lease);
    }
  } else {
    leases = curator_semaphore_acquire_n (semaphore, n, contender->timeout_ms,
                                          contender->cancellable, &error);
  }
  judge (&call, leases, error);
  return leases;
}

static void
give_back (SimContender *contender, GPtrArray *leases)
{
  const guint how = sim_contender_below (contender, 3);

  for (guint i = 0; i < leases->len; i++) {
    sim_check_released (contender->contest->checks[0], contender->beliefs[i]);
    if (how == 0)
      sim_contender_release_lease (contender, leases->pdata[i]);
  }
  if (how == 1)
    curator_semaphore_return_all (permits_of (contender)->semaphore, leases, CURATOR_WAIT_DEFAULT,
                                  NULL, NULL);
  g_ptr_array_unref (leases);
}

static void
ask_for_one_back (SimContender *contender)
{
  if (sim_contender_below (contender, 20) != 0)
    return;
  g_auto (GStrv) nodes = curator_semaphore_get_participant_nodes (permits_of (contender)->semaphore,
                                                                  CURATOR_WAIT_DEFAULT, NULL, NULL);
  if (nodes != NULL && nodes[0] != NULL) {
    G_GNUC_UNUSED const gboolean asked = curator_client_attempt_revoke (
        contender->member->client, nodes[0], CURATOR_WAIT_DEFAULT, NULL, NULL);
  }
}

static void
use_permits (SimContender *contender)
{
  const Sizes *sizes = contender->contest->data;
  int most = sizes->changes ? MAX_SIZE : sizes->size;

  if (!start_count (contender))
    return;
  resize (contender);
  ask_for_one_back (contender);
  GPtrArray *leases = acquire (contender, 1 + (int) sim_contender_below (contender, (guint) most));
  if (leases != NULL) {
    sim_contender_hold (contender, leases->pdata[0]);
    give_back (contender, leases);
  }
}

const SimRecipe sim_recipe_semaphore = { .path = "/sim/semaphore",
                                         .n_checks = 1,
                                         .set_up = set_up,
                                         .open = open_semaphore,
                                         .settle = stop_count,
                                         .close = close_semaphore,
                                         .round = use_permits };
