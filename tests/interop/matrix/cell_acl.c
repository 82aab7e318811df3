/* Locks whose nodes not everybody may read: two clients on one lock, and a third that may only
 * look. */
#include "cell.h"

#include <curator/zookeeper.h>

#include <string.h>

/* credentials: "user:password", or NULL. With acl NULL everything is open. */
static CuratorClient *
connect_as (Cell *cell, const char *credentials, const struct ACL_vector *acl)
{
  CuratorClient *client = cell_client_new (cell->servers, SESSION_MS, FALSE);
  if (credentials != NULL)
    curator_client_add_auth (client, "digest", credentials, strlen (credentials));
  curator_client_set_acl (client, acl);
  return cell_client_start (client);
}

/* The second one waits behind the first, and gets the lock from it. */
static char *
hand_over (Cell *cell, CuratorClient *first, CuratorClient *second, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLease) lease = cell_take (first, "mutex", path, LONG_MS, &error);
  CELL_CHECK (lease != NULL, error);
  g_autoptr (CuratorLease) none = cell_take (second, "mutex", path, REFUSAL_MS, &error);
  CELL_CHECK (none == NULL && g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT),
              error);
  g_clear_error (&error);
  g_autoptr (Taker) taker = taker_start (second, "mutex", path);
  CELL_CHECK (raw_zk_wait_children (cell->raw, path, 2, LONG_MS), NULL);
  wait_ms (QUIET_MS);
  CELL_CHECK (!g_atomic_int_get (&taker->returned), NULL);
  CELL_CHECK (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  CELL_CHECK (taker_is_granted (taker), taker->error);
  return NULL;
}

static char *
exclude_both_ways (Cell *cell, const char *path, const char *a, const char *b)
{
  g_autoptr (CuratorClient) first = connect_as (cell, a, &ZOO_CREATOR_ALL_ACL);
  g_autoptr (CuratorClient) second = connect_as (cell, b, &ZOO_CREATOR_ALL_ACL);
  CELL_CHECK (first != NULL && second != NULL, NULL);
  CELL_CHECK (raw_zk_make_path (cell->raw, path) == ZOK, NULL);
  char *problem = hand_over (cell, first, second, path);
  return problem != NULL ? problem : hand_over (cell, second, first, path);
}

char *
cell_acl_creator (Cell *cell)
{
  return exclude_both_ways (cell, "/acl/creator", "alice:a", "bob:b");
}

char *
cell_acl_group (Cell *cell)
{
  return exclude_both_ways (cell, "/acl/group", "team:t", "team:t");
}

/* It sees the holder and cannot contend. */
char *
cell_acl_stranger (Cell *cell)
{
  struct ACL entries[] = { { ZOO_PERM_ALL, ZOO_AUTH_IDS },
                           { ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE } };
  const struct ACL_vector acl = { G_N_ELEMENTS (entries), entries };
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) member = connect_as (cell, "team:t", &acl);
  g_autoptr (CuratorClient) stranger = connect_as (cell, NULL, NULL);
  CELL_CHECK (member != NULL && stranger != NULL, NULL);
  g_autoptr (CuratorLease) lease = cell_take (member, "mutex", "/acl/stranger", LONG_MS, &error);
  CELL_CHECK (lease != NULL, error);
  g_autoptr (CuratorInspection) seen =
      curator_client_inspect (stranger, "/acl/stranger", LONG_MS, NULL, &error);
  CELL_CHECK (seen != NULL && curator_inspection_get_n_participants (seen) == 1, error);
  CELL_CHECK (curator_participant_is_readable (curator_inspection_get_participant (seen, 0)), NULL);
  g_autoptr (CuratorLease) stolen = cell_take (stranger, "mutex", "/acl/stranger", LONG_MS, &error);
  CELL_CHECK (stolen == NULL && g_error_matches (error, CURATOR_ZK_ERROR, (int) ZNOAUTH), error);
  CELL_CHECK (strstr (error->message, "CREATE") != NULL, error);
  return NULL;
}
