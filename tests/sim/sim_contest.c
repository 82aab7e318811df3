/* Sets up a contest, runs it, and checks that nothing is left behind. See sim_contest.h.
 *
 * Runs on the thread that drives the world; clients are closed by actors, because that waits.
 */
#include "sim_contest.h"

#include "sim_contender.h"
#include "sim_machine.h"

static gboolean
still_held (gpointer data)
{
  return curator_lease_get_state (data) < CURATOR_LEASE_STATE_LOST
         && curator_lease_get_remaining_ms (data) > 0;
}

static void
add_contender (SimMember *member, int i)
{
  SimContender *contender = g_new0 (SimContender, 1);

  contender->member = member;
  contender->contest = member->contest;
  contender->process = member->process;
  contender->world = member->world;
  contender->name = g_strdup_printf ("%s%d", member->process->name, i + 1);
  pthread_mutex_init (&contender->mutex, NULL);
  pthread_cond_init (&contender->cond, NULL);
  g_ptr_array_add (member->contest->contenders, contender);
  sim_actor_new (member->world, member->process, contender->name, sim_contend, contender);
}

static void
add_member (SimContest *contest, int i)
{
  SimMember *member = g_new0 (SimMember, 1);
  const char name[] = { (char) ('A' + i), '\0' };

  member->contest = contest;
  member->world = contest->world;
  member->index = i;
  member->process = sim_process_new (contest->world, name);
  member->client = sim_client_new (
      member->process, contest->recipe->policy != NULL ? contest->recipe->policy (member) : NULL,
      contest->rules.session_timeout_ms);
  g_assert_true (curator_client_start (member->client, NULL));
  if (contest->recipe->open != NULL)
    contest->recipe->open (member);
  g_ptr_array_add (contest->members, member);
  for (int k = 0; k < contest->rules.n_contenders; k++)
    add_contender (member, k);
}

static void
contender_free (gpointer data)
{
  SimContender *contender = data;

  g_clear_object (&contender->cancellable);
  pthread_mutex_destroy (&contender->mutex);
  pthread_cond_destroy (&contender->cond);
  g_free (contender->name);
  g_free (contender);
}

SimContest *
sim_contest_new (SimWorld *world, const SimContestRules *rules, const SimRecipe *recipe)
{
  SimContest *contest = g_new0 (SimContest, 1);

  contest->world = world;
  contest->recipe = recipe;
  contest->rules = *rules;
  for (int i = 0; i < recipe->n_checks; i++) {
    g_autofree char *name = g_strdup_printf ("%s#%d", recipe->path, i);

    contest->checks[i] =
        sim_check_new (world, name, recipe->still_held != NULL ? recipe->still_held : still_held);
  }
  contest->members = g_ptr_array_new_with_free_func (g_free);
  contest->contenders = g_ptr_array_new_with_free_func (contender_free);
  if (recipe->set_up != NULL)
    recipe->set_up (contest);
  for (int i = 0; i < rules->n_members; i++)
    add_member (contest, i);
  return contest;
}

gboolean
sim_contest_goes_on (SimContest *contest)
{
  for (guint i = 0; i < contest->contenders->len; i++) {
    SimContender *contender = contest->contenders->pdata[i];

    if (!contender->done && !sim_process_is_dead (contender->process))
      return TRUE;
  }
  return FALSE;
}

void
sim_contest_free (SimContest *contest)
{
  g_ptr_array_unref (contest->contenders);
  g_ptr_array_unref (contest->members);
  for (int i = 0; i < contest->recipe->n_checks; i++)
    sim_check_free (contest->checks[i]);
  g_free (contest->data);
  g_free (contest);
}

/* --- closing ---------------------------------------------------------------------------------- */

static void
close_member (gpointer data)
{
  SimMember *member = data;

  member->closed = TRUE;
  sim_trace (member->world, "%s: closes its client", member->process->name);
  curator_client_close (member->client);
}

static void
close_in_the_middle (gpointer data)
{
  SimMember *member = data;

  sim_sleep_us (member->world, g_rand_int_range (member->world->rand, 0, 300000));
  close_member (member);
}

/* Some nodes are deleted while a client has no connection. */
static void
perhaps_cut_off (SimContest *contest)
{
  GRand *rand = contest->world->rand;
  const SimMember *member =
      contest->members->pdata[g_rand_int_range (rand, 0, (gint32) contest->members->len)];

  if (g_rand_boolean (rand) && !sim_process_is_dead (member->process)) {
    sim_world_strike (contest->world, SIM_FAULT_OUTAGE, member->process,
                      g_rand_int_range (rand, 1, 3000) * 1000);
    sim_sleep_ms (contest->world, g_rand_int_range (rand, 0, 500));
  }
}

/* A node of the third party has the deleted one's name for a while. Where names are not unique the
 * contenders do that. Returns how long. */
static gint64
perhaps_take_place (SimContest *contest, const char *path)
{
  GRand *rand = contest->world->rand;

  if (contest->recipe->plain_nodes || g_rand_boolean (rand))
    return 0;
  const gint64 ms = g_rand_int_range (rand, 0, (gint32) contest->rules.session_timeout_ms / 4);

  sim_sleep_us (contest->world, g_rand_int_range (rand, 0, 5000));
  sim_world_put (contest->world, path, "", 0);
  sim_sleep_ms (contest->world, ms);
  sim_world_delete (contest->world, path);
  return ms;
}

/* Deletes nodes of the contenders, again and again. Where names are not unique, another contender's
 * node takes the place of a deleted one at once. */
static void
delete_nodes (gpointer data)
{
  SimContest *contest = data;
  SimWorld *world = contest->world;
  GRand *rand = world->rand;
  const gint64 session_ms = contest->rules.session_timeout_ms;

  while (sim_contest_goes_on (contest) && world->now < world->config.faults_until_us) {
    sim_sleep_ms (world, g_rand_int_range (rand, 1, (gint32) session_ms / 4));
    perhaps_cut_off (contest);
    const char *found = sim_world_find_ephemeral (world);
    if (found != NULL) {
      g_autofree char *path = g_strdup (found);
      const guint64 token = (guint64) sim_world_czxid (world, path);

      sim_check_node_deleted (contest->checks[0], token, session_ms * 1000);
      sim_world_delete (world, path);
      const gint64 taken_ms = perhaps_take_place (contest, path);
      sim_sleep_ms (world, session_ms - taken_ms);
      sim_check_expect_known (contest->checks[0], token);
    }
  }
}

static void
close_all (SimContest *contest, gboolean zombies_only)
{
  for (guint i = 0; i < contest->members->len; i++) {
    SimMember *member = contest->members->pdata[i];

    if (!zombies_only || sim_process_is_dead (member->process))
      sim_actor_new (contest->world, member->process, "closer", close_member, member);
  }
  sim_world_run (contest->world);
}

/* --- residue ---------------------------------------------------------------------------------- */

/* An idle session still sends heartbeats: wait for a moment with no request in flight. */
static void
wait_for_quiet (const SimMember *member)
{
  for (int i = 0; i < 50 && sim_process_pending (member->process) > 0; i++)
    sim_world_run_for (member->world, member->contest->rules.session_timeout_ms / 50);
}

static void
look_for_residue (SimContest *contest)
{
  const char *node = sim_world_find_ephemeral (contest->world);

  if (node != NULL && !contest->rules.may_leave)
    sim_world_fail (contest->world, "residue: nodes are left, such as %s", node);
  for (guint i = 0; i < contest->members->len; i++) {
    SimMember *member = contest->members->pdata[i];

    if (sim_process_is_dead (member->process))
      continue;
    wait_for_quiet (member);
    const guint server = sim_process_server_watches (member->process);
    const guint client = sim_process_client_watches (member->process);
    const guint pending = sim_process_pending (member->process);
    if (server + client + pending > 0) {
      sim_world_fail (contest->world,
                      "residue: %s left %u watches at the server, %u in the library, %u requests",
                      member->process->name, server, client, pending);
    }
  }
  for (int i = 0; i < contest->recipe->n_checks; i++)
    if (sim_check_n_holders (contest->checks[i]) > 0)
      sim_world_fail (contest->world, "residue: a contender still believes that it is the holder");
}

static void
take_apart (SimContest *contest)
{
  for (guint i = 0; i < contest->members->len; i++) {
    SimMember *member = contest->members->pdata[i];

    if (sim_process_open_handles (member->process) > 0)
      sim_world_fail (contest->world, "residue: %s left handles open", member->process->name);
    member->process->client = NULL;
    if (contest->recipe->close != NULL)
      contest->recipe->close (member);
    g_clear_pointer (&member->lock, curator_lock_unref);
    curator_client_unref (member->client);
  }
}

gboolean
sim_contest_run (SimContest *contest)
{
  gint64 settle_ms = 2 * contest->rules.session_timeout_ms + 10 * 1000;

  if (contest->rules.closing) {
    SimMember *first = contest->members->pdata[0];

    sim_actor_new (contest->world, first->process, "closer", close_in_the_middle, first);
  }
  if (contest->rules.deletions)
    sim_actor_new (contest->world, NULL, "third party", delete_nodes, contest);
  if (contest->rules.any_error) {
    /* A request that always fails may keep a caller waiting, but no longer than this. */
    sim_world_run_for (contest->world, 200 * 1000);
    sim_world_heal (contest->world);
  }
  sim_world_run (contest->world);
  sim_world_heal (contest->world);
  close_all (contest, TRUE);
  for (guint i = 0; i < contest->members->len && contest->recipe->settle != NULL; i++)
    contest->recipe->settle (contest->members->pdata[i]);
  sim_world_run_for (contest->world, settle_ms);
  look_for_residue (contest);
  close_all (contest, FALSE);
  sim_world_run_for (contest->world, settle_ms);
  take_apart (contest);
  return contest->world->failure == NULL;
}
