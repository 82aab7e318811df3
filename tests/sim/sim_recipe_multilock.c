/* A multi-lock of a mutex, a write lock, a semaphore mutex and another multi-lock: all or nothing,
 * and no call waits forever, although some contenders take a single member.
 *
 * Each member has a check of its own; a hold of the multi-lock is a hold of every member.
 */
#include "sim_contender.h"

typedef enum
{
  PART_MUTEX,
  PART_WRITE,
  PART_SEMAPHORE_MUTEX,
  PART_FIRST_OF_INNER,
  PART_SECOND_OF_INNER,
  N_PARTS
} Part;

typedef struct
{
  CuratorRwLock *pair;
  CuratorLock *parts[N_PARTS]; /* NULL: the inner lock's second member, never taken alone */
  CuratorLock *inner;
} Parts;

static void
open_parts (SimMember *member)
{
  static const char *const rising[] = { "/sim/multi/d", "/sim/multi/e", NULL };
  static const char *const falling[] = { "/sim/multi/e", "/sim/multi/d", NULL };
  CuratorClient *client = member->client;
  Parts *parts = g_new0 (Parts, 1);

  parts->inner = curator_multi_lock_new_for_paths_sorted (
      client, member->index % 2 == 0 ? rising : falling, NULL);
  parts->pair = curator_rw_lock_new (client, "/sim/multi/b", NULL, 0, NULL);
  parts->parts[PART_MUTEX] = curator_mutex_new (client, "/sim/multi/a", NULL);
  parts->parts[PART_WRITE] = curator_lock_ref (curator_rw_lock_get_write_lock (parts->pair));
  parts->parts[PART_SEMAPHORE_MUTEX] = curator_semaphore_mutex_new (client, "/sim/multi/c", NULL);
  parts->parts[PART_FIRST_OF_INNER] = curator_mutex_new (client, "/sim/multi/d", NULL);
  member->data = parts;
  CuratorLock *whole[] = { parts->parts[PART_MUTEX], parts->parts[PART_WRITE],
                           parts->parts[PART_SEMAPHORE_MUTEX], parts->inner };
  member->lock = curator_multi_lock_new (whole, G_N_ELEMENTS (whole));
}

static void
close_parts (SimMember *member)
{
  Parts *parts = member->data;

  for (int i = 0; i < N_PARTS; i++)
    g_clear_pointer (&parts->parts[i], curator_lock_unref);
  curator_lock_unref (parts->inner);
  curator_rw_lock_unref (parts->pair);
  g_free (parts);
}

static CuratorLock *
choose_part (SimContender *contender)
{
  Parts *parts = contender->member->data;
  guint i = sim_contender_below (contender, 9);

  return i <= PART_FIRST_OF_INNER    ? parts->parts[i]
         : i == PART_SECOND_OF_INNER ? parts->inner
                                     : contender->member->lock;
}

static gboolean
wants_the_whole (SimContender *contender)
{
  return contender->lock == contender->member->lock;
}

static gboolean
wants_part (SimContender *contender, int i)
{
  Parts *parts = contender->member->data;

  return wants_the_whole (contender) || parts->parts[i] == contender->lock
         || (contender->lock == parts->inner && i >= PART_FIRST_OF_INNER);
}

/* The object holds the semaphore mutex, not the thread; another contender may hold it. */
static void
expect_parts (SimContender *contender, gboolean owned)
{
  Parts *parts = contender->member->data;

  for (int i = 0; i < PART_SEMAPHORE_MUTEX; i++)
    if (wants_part (contender, i) && (sim_held_lease (parts->parts[i]) != NULL) != owned)
      sim_contender_fail (contender, "part %d is %s", i, owned ? "not held" : "still held");
}

/* The members of the inner multi-lock are lost with the session, as the first member is. */
static void
believe_parts (SimContender *contender, CuratorLease *lease)
{
  Parts *parts = contender->member->data;
  gboolean by_thread = lease == NULL;

  if (by_thread)
    expect_parts (contender, TRUE);
  for (int i = 0; i < N_PARTS; i++) {
    CuratorLease *of_part = lease;
    guint64 token = 0;

    if (!wants_part (contender, i))
      continue;
    if (by_thread)
      of_part = i < PART_FIRST_OF_INNER ? sim_held_lease (parts->parts[i]) : NULL;
    if (of_part != NULL && (by_thread || parts->parts[i] == contender->lock || i == PART_MUTEX))
      token = curator_lease_get_fencing_token (of_part);
    if (of_part == NULL)
      of_part = sim_held_lease (parts->parts[PART_MUTEX]);
    if (of_part == NULL)
      continue; /* the inner one by thread: there is no way to ask whether it is held */
    contender->beliefs[i] = sim_contender_believe (contender, i, of_part, SIM_HOLD_ALONE, token, 0);
  }
}

static void
refused_parts (SimContender *contender)
{
  expect_parts (contender, FALSE);
}

/* The semaphore mutex makes the multi-lock not re-entrant. The members re-entered before it must be
 * released again, and no others. */
static gboolean
inside_parts (SimContender *contender, CuratorLease *lease)
{
  const Parts *parts = contender->member->data;

  if (wants_the_whole (contender) || contender->lock == parts->parts[PART_SEMAPHORE_MUTEX]) {
    sim_contender_enter_in_vain (contender, wants_the_whole (contender) ? NULL : lease);
    if (wants_the_whole (contender))
      expect_parts (contender, TRUE);
    return FALSE;
  }
  if (lease != NULL)
    sim_contender_enter_again (contender, contender->lock, lease);
  return FALSE;
}

const SimRecipe sim_recipe_multilock = { .path = "/sim/multi",
                                         .n_checks = N_PARTS,
                                         .shared_hold = TRUE,
                                         .open = open_parts,
                                         .close = close_parts,
                                         .choose = choose_part,
                                         .believe = believe_parts,
                                         .inside = inside_parts,
                                         .refused = refused_parts };
