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

static Sizes *
sizes_of (SimContender *contender)
{
  return contender->member->contest->data;
}

/* An operator raises the limit: a call for more permits than the limit succeeds in the end. */
static void
enlarge (gpointer data)
{
  SimContest *contest = data;

  for (int i = 0; i < 30 && sim_contest_goes_on (contest); i++)
    {
      sim_sleep_ms (contest->world, 20 * 1000);
      sim_world_set_number (contest->world, COUNT_PATH, MAX_SIZE);
    }
}

static void
set_up (SimContest *contest)
{
  GRand *rand = sim_world_rand (contest->world);
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

  (void) semaphore;
  sim_trace (member->contest->world, "%s: revocation of %s requested",
             sim_process_name (member->process), curator_lease_get_node_name (lease));
}

static void
open_semaphore (SimMember *member)
{
  const char *path = member->contest->recipe->path;
  Sizes *sizes = member->contest->data;
  Permits *permits = g_new0 (Permits, 1);

  if (sizes->changes)
    {
      permits->count = curator_shared_count_new (member->client, COUNT_PATH, sizes->size, NULL);
      permits->semaphore =
          curator_semaphore_new_with_shared_count (member->client, path, permits->count, NULL);
    }
  else
    {
      permits->semaphore = curator_semaphore_new (member->client, path, sizes->size, NULL);
    }
  if (g_rand_int_range (sim_world_rand (member->contest->world), 0, 4) == 0)
    {
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
  if (permits->starting)
    {
      sim_sleep_ms (sim_contender_world (contender), 100);
      return permits->started;
    }
  permits->starting = TRUE;
  permits->started =
      curator_shared_count_start (permits->count, CURATOR_WAIT_DEFAULT, NULL, &error);
  permits->starting = FALSE;
  sim_trace (sim_contender_world (contender), "%s: following the shared count: %s", contender->name,
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
  if (sim_contender_below (contender, 2) == 0
      && curator_shared_count_get_versioned (permits->count, NULL, &version))
    {
      G_GNUC_UNUSED const gboolean changed = curator_shared_count_try_set (
          permits->count, version, number, NULL, CURATOR_WAIT_DEFAULT, NULL, &error);
    }
  else
    {
      G_GNUC_UNUSED const gboolean changed =
          curator_shared_count_set (permits->count, number, CURATOR_WAIT_DEFAULT, NULL, &error);
    }
  sim_trace (sim_contender_world (contender), "%s: resizing to %d: %s", contender->name, number,
             error == NULL ? "yes" : error->message);
  if (error != NULL && contender->member->contest->rules.calm)
    {
      sim_world_fail (sim_contender_world (contender), "%s: resizing failed: %s", contender->name,
                      error->message);
    }
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
  const Sizes *sizes = sizes_of (contender);
  g_autoptr (GArray) numbers = NULL;
  gint32 limit = version < 0 ? sizes->size : 0;

  if (!sizes->changes)
    return (guint) sizes->size;
  numbers = sim_world_numbers (sim_contender_world (contender), COUNT_PATH);
  for (guint i = (guint) MAX (version, 0); i < numbers->len; i++)
    limit = MAX (limit, g_array_index (numbers, gint32, i));
  return (guint) limit;
}

/* --- acquiring ------------------------------------------------------------------------------- */

/* Permits granted by one call. */
typedef struct
{
  GPtrArray *leases;
  guint beliefs[MAX_SIZE];
} Hold;

typedef struct
{
  SimContender *contender;
  gint32 version;
  Hold *hold;
} Call;

static Hold *
believe_all (SimContender *contender, GPtrArray *leases, gint32 version)
{
  Hold *hold = g_new0 (Hold, 1);
  guint limit = limit_since (contender, version);

  hold->leases = leases;
  for (guint i = 0; i < leases->len; i++)
    {
      CuratorLease *lease = leases->pdata[i];

      hold->beliefs[i] = sim_contender_believe (contender, 0, lease, SIM_HOLD_PERMIT,
                                                curator_lease_get_fencing_token (lease), limit);
    }
  return hold;
}

static void
on_acquired (CuratorSemaphore *semaphore, GPtrArray *leases, const GError *error, gpointer data)
{
  Call *call = data;

  (void) semaphore;
  sim_contender_judge (call->contender, error);
  call->hold = leases != NULL ? believe_all (call->contender, leases, call->version) : NULL;
  sim_contender_tell (call->contender);
}

static Hold *
acquire (SimContender *contender, int n)
{
  CuratorSemaphore *semaphore = permits_of (contender)->semaphore;
  Call call = { .contender = contender, .version = known_version (contender) };
  g_autoptr (GError) error = NULL;
  GPtrArray *leases = NULL;

  sim_contender_begin_call (contender);
  if (sim_contender_below (contender, 3) == 0)
    {
      contender->told = FALSE;
      curator_semaphore_acquire_then (semaphore, n, contender->timeout_ms, contender->cancellable,
                                      on_acquired, &call);
      sim_contender_wait (contender);
      return call.hold;
    }
  if (n == 1)
    {
      CuratorLease *lease = curator_semaphore_acquire (semaphore, contender->timeout_ms,
                                                       contender->cancellable, &error);

      if (lease != NULL)
        {
          leases = g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);
          g_ptr_array_add (leases, lease);
        }
    }
  else
    {
      leases = curator_semaphore_acquire_n (semaphore, n, contender->timeout_ms,
                                            contender->cancellable, &error);
    }
  sim_contender_judge (contender, error);
  return leases != NULL ? believe_all (contender, leases, call.version) : NULL;
}

static void
stop_believing (SimContender *contender, Hold *hold, guint i)
{
  sim_check_released (contender->member->contest->checks[0], hold->beliefs[i]);
}

static void
give_back (SimContender *contender, Hold *hold)
{
  guint how = sim_contender_below (contender, 3);

  for (guint i = 0; i < hold->leases->len; i++)
    {
      g_autoptr (GError) error = NULL;
      gboolean done;

      stop_believing (contender, hold, i);
      if (how == 0)
        {
          done = curator_lease_release (hold->leases->pdata[i], CURATOR_WAIT_DEFAULT, NULL, &error);
          sim_contender_judge_release (contender, done, error);
        }
    }
  if (how == 1)
    curator_semaphore_return_all (permits_of (contender)->semaphore, hold->leases,
                                  CURATOR_WAIT_DEFAULT, NULL, NULL);
  g_ptr_array_unref (hold->leases);
  g_free (hold);
}

static void
ask_for_one_back (SimContender *contender)
{
  g_auto (GStrv) nodes = NULL;

  if (sim_contender_below (contender, 20) == 0)
    {
      nodes = curator_semaphore_get_participant_nodes (permits_of (contender)->semaphore,
                                                       CURATOR_WAIT_DEFAULT, NULL, NULL);
    }
  if (nodes != NULL && nodes[0] != NULL)
    {
      G_GNUC_UNUSED const gboolean asked = curator_client_attempt_revoke (
          contender->member->client, nodes[0], CURATOR_WAIT_DEFAULT, NULL, NULL);
    }
}

static void
use_permits (SimContender *contender)
{
  const Sizes *sizes = sizes_of (contender);
  int most = sizes->changes ? MAX_SIZE : sizes->size;
  Hold *hold;

  if (!start_count (contender))
    return;
  resize (contender);
  ask_for_one_back (contender);
  hold = acquire (contender, 1 + (int) sim_contender_below (contender, (guint) most));
  if (hold != NULL)
    {
      sim_contender_hold (contender, hold->leases->pdata[0]);
      give_back (contender, hold);
    }
}

const SimRecipe sim_recipe_semaphore = { .name = "semaphore",
                                         .path = "/sim/semaphore",
                                         .n_checks = 1,
                                         .set_up = set_up,
                                         .open = open_semaphore,
                                         .settle = stop_count,
                                         .close = close_semaphore,
                                         .round = use_permits };
