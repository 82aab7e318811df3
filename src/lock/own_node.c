/* The node of an attempt: created, looked for after a create of unknown outcome, given to a lease
 * or discarded.
 *
 * Mirrors CreateBuilderImpl with ProtectedMode and findProtectedNodeInForeground. Threads: any;
 * guarded by the client's mutex.
 *
 * NOTES: a transaction precedes every search: the server that we are connected to now may lack what
 * the previous one carried out, and a leader that was deposed without knowing it answers a sync but
 * commits nothing.
 */
#include "lock/own_node.h"

#include "base/container.h"
#include "base/path.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "core/payload.h"
#include "core/zk_error.h"
#include "lock/own_watch.h"
#include "lock/queue.h"
#include "lock/wire.h"
#include "nodes/deletion.h"
#include "nodes/reaper.h"
#include "nodes/uuid.h"
#include "session/heartbeat.h"
#include "session/lease_clock.h"

#include <string.h>

static void read_next_candidate (CuratorOwnNode *node) CURATOR_LOCKED;

gint64
curator_own_node_owner (const CuratorOwnNode *node)
{
  return node->session != NULL && node->request->is_ephemeral ? node->session->id : 0;
}

gboolean
curator_own_node_has_queue (const CuratorOwnNode *node)
{
  const CuratorLockDriver *driver = node->internals->driver;
  return node->request->is_sequential || driver->funcs.gets_the_lock != NULL;
}

gboolean
curator_own_node_has_neighbours (const CuratorOwnNode *node)
{
  return curator_lock_internals_is_exclusive (node->internals) && node->request->is_sequential
         && node->request->is_ephemeral;
}

/* FALSE: another client may have created a node with the same name, owner and payload. The payload
 * of a revocable node is empty, whatever the request has. */
static CURATOR_LOCKED gboolean
is_identifiable (const CuratorOwnNode *node)
{
  return node->request->protected_ || node->request->is_ephemeral
         || (node->request->has_guid && node->payload == node->request->data);
}

/* Without prefix and number. */
static const char *
name_of (const CuratorOwnNode *node)
{
  return node->request->name != NULL ? node->request->name : node->internals->lock_name;
}

static CURATOR_LOCKED char *
path_to_create (const CuratorOwnNode *node)
{
  g_autofree char *leaf =
      g_strconcat (node->prefix != NULL ? node->prefix : "", name_of (node), NULL);
  return curator_path_join (node->internals->base, leaf);
}

/* --- wanted and created ----------------------------------------------------------------------- */

/* For too large a payload the server closes the connection, and again for each retry. */
gboolean
curator_own_node_check_payload (CuratorOwnNode *node, GError **error)
{
  curator_node_request_renew_guid (node->request, node->internals->client);
  GBytes *data = node->request->data;
  return data == NULL || curator_check_payload (g_bytes_get_size (data), error);
}

/* A revocable node is empty, as Curator's is. */
static CURATOR_LOCKED void
choose_payload (CuratorOwnNode *node)
{
  CuratorLockInternals *internals = node->internals;
  CuratorClient *client = internals->client;

  g_clear_pointer (&node->payload, g_bytes_unref);
  if (internals->revocable != NULL) {
    g_autoptr (GBytes) empty = g_bytes_new (NULL, 0);
    node->payload = curator_payload_pack (client, empty);
    return;
  }
  curator_node_request_renew_guid (node->request, client);
  GBytes *payload = node->request->data != NULL ? node->request->data
                    : internals->data != NULL   ? internals->data
                                                : client->default_data;
  node->payload = curator_payload_pack (client, payload);
}

static CURATOR_LOCKED void
on_stake_changed (CuratorStake *stake, CuratorLeaseState state)
{
  CuratorOwnNode *node = CURATOR_CONTAINER (stake, CuratorOwnNode, stake);
  node->klass->failed (node, ZNONODE, "confirming");
}

static CURATOR_LOCKED gint64
parse_number (const CuratorOwnNode *node)
{
  gint64 number;

  if (!node->request->is_sequential || node->internals->driver->predicate == NULL
      || !curator_queue_parse_number (
          curator_lock_internals_key (curator_path_leaf (node->path), node->internals), &number))
    return -1;
  return number >= 0 ? number : CURATOR_QUEUE_LAST_NUMBER + 1;
}

/* checked_us: it existed then, or later. */
static CURATOR_LOCKED void
adopt (CuratorOwnNode *node, const char *path, gint64 czxid, gint64 checked_us)
{
  node->may_exist = FALSE;
  node->n_lost = 0;
  node->path = g_strdup (path);
  g_clear_pointer (&node->prefix, g_free);
  node->stake = (CuratorStake){ .path = node->path,
                                .needs_read = !node->request->protected_,
                                .changed = on_stake_changed,
                                .czxid = czxid,
                                .checked_us = checked_us };
  node->klass->there (node, parse_number (node));
}

static CURATOR_LOCKED void
on_created (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorOwnNode *node = data;

  node->in_flight = NULL;
  node->is_creating = FALSE;
  node->n_lost = rc == ZCONNECTIONLOSS ? node->n_lost + 1 : 0;
  if (rc == ZOK) {
    adopt (node, reply->path, reply->stat->czxid, sent_us);
    return;
  }
  node->may_exist = node->may_exist || curator_zk_is_ambiguous (rc);
  node->klass->not_created (node, rc);
}

void
curator_own_node_join (CuratorOwnNode *node, CuratorSession *session)
{
  node->session = curator_session_ref (session);
}

void
curator_own_node_leave (CuratorOwnNode *node)
{
  g_clear_pointer (&node->session, curator_session_unref);
}

void
curator_own_node_create (CuratorOwnNode *node)
{
  /* ZOO_EPHEMERAL and ZOO_SEQUENCE. */
  const int mode = (node->request->is_ephemeral ? 1 : 0) | (node->request->is_sequential ? 2 : 0);

  if (node->request->protected_ && node->prefix == NULL) {
    char uuid[CURATOR_UUID_SIZE];
    curator_uuid_write (node->session->client, uuid);
    node->prefix = g_strconcat (CURATOR_PROTECTED_NAME, uuid, "-", NULL);
  }
  choose_payload (node);
  g_autofree char *path = path_to_create (node);
  node->is_creating = TRUE;
  node->in_flight =
      curator_request_create (node->session, path, node->payload, mode, on_created, node);
}

void
curator_own_node_register (CuratorOwnNode *node, CuratorStakeKind kind)
{
  curator_stake_register (&node->stake, node->session, kind);
  if (node->internals->revocable != NULL) {
    node->own_watch =
        curator_own_watch_new (node->internals, node->session, node->path, node->stake.czxid);
  }
}

/* --- perhaps there ---------------------------------------------------------------------------- */

static CURATOR_LOCKED CuratorUnknownCreate
describe_create (const CuratorOwnNode *node, gboolean wants_parents)
{
  return (CuratorUnknownCreate){ .parent = node->internals->base,
                                 .prefix = node->prefix,
                                 .name = name_of (node),
                                 .sequential = node->request->is_sequential,
                                 .identifiable = is_identifiable (node),
                                 .wants_parents = wants_parents,
                                 .ephemeral = node->request->is_ephemeral,
                                 .session_id = node->session != NULL ? node->session->id : 0,
                                 .payload = node->payload };
}

/* It may still be carried out. The next one has another prefix. */
static CURATOR_LOCKED void
give_up_create (CuratorOwnNode *node)
{
  const CuratorUnknownCreate unknown = describe_create (node, FALSE);
  curator_reaper_delete_unknown (node->internals->client, &unknown);
  node->may_exist = FALSE;
  g_clear_pointer (&node->prefix, g_free);
}

/* Without a GUID, another attempt of this session may have created an equal node. A node that is in
 * use here, or about to be deleted, is not the missing one. */
static CURATOR_LOCKED gboolean
matches_unknown_create (CuratorOwnNode *node, const char *path, const CuratorZkReply *reply)
{
  return node->may_exist && curator_reply_has_payload (reply, node->payload)
         && !curator_session_has_stake (node->session, path)
         && !curator_deletions_has (node->internals->client, path, reply->stat, node->payload)
         && is_identifiable (node);
}

/* Decides whether the node is ours. */
static CURATOR_LOCKED void
on_candidate_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorOwnNode *node = data;
  g_autofree char *path = curator_take_first (node->candidates);

  node->in_flight = NULL;
  if (rc != ZOK && rc != ZNONODE) {
    node->klass->failed (node, rc, "reading the node in");
  } else if (rc == ZOK && (node->prefix != NULL || matches_unknown_create (node, path, reply))
             && reply->stat->ephemeralOwner == curator_own_node_owner (node)) {
    /* The server that has shown it has carried out all that was proven before. */
    adopt (node, path, reply->stat->czxid, curator_session_evidence (node->session)->proof_us);
  } else if (rc == ZOK && !node->request->is_sequential) {
    const gboolean is_litter =
        curator_deletions_has (node->internals->client, path, reply->stat, node->payload);
    node->klass->name_taken (node, curator_path_leaf (path), is_litter);
  } else {
    read_next_candidate (node);
  }
}

static CURATOR_LOCKED void
read_next_candidate (CuratorOwnNode *node)
{
  if (node->candidates->len > 0) {
    node->in_flight = curator_request_get (node->session, g_ptr_array_index (node->candidates, 0),
                                           FALSE, on_candidate_read, node);
    return;
  }
  if (node->prefix != NULL)
    give_up_create (node);
  node->klass->absent (node);
}

void
curator_own_node_check_owner (CuratorOwnNode *node)
{
  g_clear_pointer (&node->candidates, g_ptr_array_unref);
  node->candidates = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (node->candidates, path_to_create (node));
  read_next_candidate (node);
}

/* Collects the children that may be ours. With a GUID that is one at most. */
static CURATOR_LOCKED void
on_found (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorOwnNode *node = data;

  node->in_flight = NULL;
  if (rc != ZOK && rc != ZNONODE) {
    node->klass->failed (node, rc, "looking for our node in");
    return;
  }
  if (rc == ZOK)
    curator_reaper_note_list (node->internals->client, node->internals->base, reply->children);
  g_clear_pointer (&node->candidates, g_ptr_array_unref);
  node->candidates = g_ptr_array_new_with_free_func (g_free);
  for (int i = 0; rc == ZOK && i < reply->children->count; i++) {
    const char *name = reply->children->data[i];
    if (node->prefix != NULL ? g_str_has_prefix (name, node->prefix)
                             : curator_path_is_numbered (name, name_of (node)))
      g_ptr_array_add (node->candidates, curator_path_join (node->internals->base, name));
  }
  /* Our own names differ only in their numbers. A user's driver is not called with the mutex
   * held. */
  g_ptr_array_sort (node->candidates, curator_compare_strings);
  read_next_candidate (node);
}

static CURATOR_LOCKED void
on_quorum_reached (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorOwnNode *node = data;

  node->in_flight = NULL;
  if (rc != ZOK && rc != ZNONODE)
    node->klass->failed (node, rc, "looking for our node in");
  else if (!node->request->is_sequential && node->prefix == NULL)
    curator_own_node_check_owner (node);
  else
    node->in_flight =
        curator_request_get_children (node->session, node->internals->base, FALSE, on_found, node);
}

void
curator_own_node_search (CuratorOwnNode *node)
{
  GPtrArray *parent = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (parent, g_strdup (node->internals->base));
  node->in_flight = curator_request_check (node->session, parent, on_quorum_reached, node);
}

/* --- there and alive -------------------------------------------------------------------------- */

gboolean
curator_own_node_is_proven (CuratorOwnNode *node)
{
  const gint64 now = curator_locked_reread_us (node->session->client);
  return curator_lease_clock_is_fresh (node->session, now)
         && curator_stake_is_checked (&node->stake, now);
}

static CURATOR_LOCKED void
note_checked (CuratorOwnNode *node, gint64 checked_us)
{
  node->stake.checked_us = MAX (node->stake.checked_us, checked_us);
  node->klass->confirmed (node);
}

/* Its answer comes after all that a quorum had committed before the check. With another czxid, ours
 * is gone. */
static CURATOR_LOCKED void
on_read (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorOwnNode *node = data;

  node->in_flight = NULL;
  if (rc == ZOK && reply->stat->czxid == node->stake.czxid)
    note_checked (node, curator_session_evidence (node->session)->proof_us);
  else
    node->klass->failed (node, rc == ZOK ? ZNONODE : rc, "confirming");
}

static CURATOR_LOCKED void
on_checked (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorOwnNode *node = data;
  CuratorStake *stake = &node->stake;

  node->in_flight = NULL;
  if (rc == ZNOAUTH && !stake->refuses_check) {
    /* A check needs READ, which the ACL of the node does not grant. Before ZOOKEEPER-2590 exists
       * does not. */
    stake->needs_read = TRUE;
    stake->refuses_check = TRUE;
    curator_own_node_confirm (node);
    return;
  }
  if (rc == ZOK && stake->needs_read)
    node->in_flight = curator_request_exists (node->session, node->path, FALSE, on_read, node);
  else if (rc == ZOK)
    note_checked (node, sent_us);
  else
    node->klass->failed (node, rc, "confirming");
}

void
curator_own_node_confirm (CuratorOwnNode *node)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (paths,
                   g_strdup (node->stake.refuses_check ? node->internals->base : node->path));
  node->in_flight = curator_request_check (node->session, paths, on_checked, node);
}

/* --- given away or discarded ------------------------------------------------------------------ */

/* The next holder's node may have the same name, unless that has a GUID. A number does not make it
 * unique: the counter restarts when the parent is recreated. */
char *
curator_own_node_discard (CuratorOwnNode *node, gboolean wants_parents)
{
  CuratorClient *client = node->internals->client;
  const CuratorUnknownCreate unknown = describe_create (node, wants_parents);

  curator_stake_unregister (&node->stake);
  g_clear_pointer (&node->own_watch, curator_own_watch_free);
  if (node->is_creating)
    curator_reaper_adopt_create (client, g_steal_pointer (&node->in_flight), &unknown);
  else if (node->path != NULL)
    curator_deletion_start (
        curator_deletion_new (client, node->path, curator_own_node_owner (node),
                              node->request->protected_ ? 0 : node->stake.czxid),
        NULL);
  g_clear_pointer (&node->in_flight, curator_request_forget);
  node->is_creating = FALSE;
  if (node->may_exist)
    give_up_create (node);
  g_clear_pointer (&node->candidates, g_ptr_array_unref);
  g_clear_pointer (&node->prefix, g_free);
  return g_steal_pointer (&node->path);
}

char *
curator_own_node_steal (CuratorOwnNode *node)
{
  return g_steal_pointer (&node->path);
}

CuratorLease *
curator_own_node_give (CuratorOwnNode *node, CuratorQueueSlot *slot)
{
  const CuratorLeaseNode given = { .path = g_steal_pointer (&node->path),
                                   .czxid = node->stake.czxid,
                                   .name_is_unique = node->request->protected_,
                                   .is_ephemeral = node->request->is_ephemeral,
                                   .stake = &node->stake,
                                   .slot = slot,
                                   .own_watch = g_steal_pointer (&node->own_watch) };
  return curator_lease_new (node->session, node->internals, &given);
}

/* The reaper and requests have references to the payload, too. All are dropped under the mutex,
 * because ThreadSanitizer does not see how GBytes counts them. */
void
curator_own_node_forget_data (CuratorOwnNode *node)
{
  g_clear_pointer (&node->payload, g_bytes_unref);
  /* The default request, without data, is shared by all clients. */
  if (node->request->data != NULL)
    g_clear_pointer (&node->request->data, g_bytes_unref);
}
