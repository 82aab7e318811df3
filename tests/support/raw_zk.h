/* An independent observer: libzookeeper's synchronous calls, without this library.
 *
 * It has a session of its own, so it can also create and delete nodes as a foreign client. Use it
 * from one thread at a time, and connect it to the server, never through a proxy under test.
 * Functions that return int return a ZOO_ERRORS code.
 */
#pragma once

#include <glib.h>
#include <zookeeper/zookeeper.h>

typedef struct _RawZk RawZk;

RawZk *raw_zk_open (const char *address); /* waits up to 10 s; NULL if it cannot connect */
void raw_zk_close (RawZk *raw);           /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RawZk, raw_zk_close)
gint64 raw_zk_session (RawZk *raw);
gboolean raw_zk_is_connected (RawZk *raw);
gboolean raw_zk_is_expired (RawZk *raw);

/* Sorted by the ten digits at their end, others first; NULL when the node does not exist. */
char **raw_zk_children (RawZk *raw, const char *path);
/* -1 when the node does not exist. */
int raw_zk_count_children (RawZk *raw, const char *path);
/* Also a node that may not be read: the servers that refuse to show it answer so only if it is
 * there. */
gboolean raw_zk_exists (RawZk *raw, const char *path);
/* data may be NULL; it becomes NULL for a node without data (which is not the same as empty). */
int raw_zk_get (RawZk *raw, const char *path, GBytes **data, struct Stat *stat);
int raw_zk_get_acl (RawZk *raw, const char *path, struct ACL_vector *acl);
int raw_zk_set_acl (RawZk *raw, const char *path, const struct ACL_vector *acl);
/* Sets the ACL to these permissions for everyone. */
int raw_zk_set_world_acl (RawZk *raw, const char *path, int permissions);
/* Session that owns the node; 0 if none does, -1 if there is no such node. */
gint64 raw_zk_owner (RawZk *raw, const char *path);

/* Needs READ where the server has ZOOKEEPER-2590, from 3.8.4 and 3.9.2 on; before, no
 * permission. */
int raw_zk_stat (RawZk *raw, const char *path, struct Stat *stat);

/* Sets a data watch on the node. */
int raw_zk_watch (RawZk *raw, const char *path);

int raw_zk_add_auth (RawZk *raw, const char *scheme, const char *cert);
int raw_zk_set (RawZk *raw, const char *path, const char *data);
int raw_zk_set_bytes (RawZk *raw, const char *path, GBytes *data);
int raw_zk_delete (RawZk *raw, const char *path);
int raw_zk_delete_tree (RawZk *raw, const char *path);
/* mode: ZOO_PERSISTENT, ZOO_EPHEMERAL_SEQUENTIAL, …; created (may be NULL) gets the real path. */
int raw_zk_create (RawZk *raw, const char *path, const char *data, int mode, char **created);
#define RAW_ZK_NO_NODE (-1)
/* One transaction deletes the node and creates another one of the same name, or none with the mode
 * RAW_ZK_NO_NODE. deleted: unless NULL the node is written before, which tells exactly which one
 * was deleted even if its name has been reused. */
int raw_zk_replace (RawZk *raw, const char *path, GBytes *data, int mode, struct Stat *deleted);
int raw_zk_create_bytes (RawZk *raw, const char *path, GBytes *data, int mode);
/* Replaces the member in the list of servers; joining or leaving may be NULL. */
int raw_zk_reconfig (RawZk *raw, const char *joining, const char *leaving);
/* n persistent children of the path, numbered from 0 in ten digits behind the prefix. */
int raw_zk_create_many (RawZk *raw, const char *path, const char *prefix, int n);
/* Creates the path and all its parents, persistent; existing nodes are kept. */
int raw_zk_make_path (RawZk *raw, const char *path);

gboolean raw_zk_wait_children (RawZk *raw, const char *path, int n, int timeout_ms);
gboolean raw_zk_wait_gone (RawZk *raw, const char *path, int timeout_ms);
