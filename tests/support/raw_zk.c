#define THREADED 1 /* declares the synchronous calls */
#include "raw_zk.h"

#include "support/waiting.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#define SESSION_TIMEOUT_MS 60000 /* or what the server allows: who has expired sees nothing */
#define OPEN_TIMEOUT_MS    60000
#define MAX_DATA           (1024 * 1024)

struct _RawZk
{
  zhandle_t *handle;
};

static void
ignore_event (zhandle_t *handle, int type, int state, const char *path, void *context)
{
}

static void
ignore_log (const char *message)
{
}

static zhandle_t *
init_handle (const char *address)
{
  sigset_t all, before;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  zhandle_t *handle = zookeeper_init2 (address, ignore_event, SESSION_TIMEOUT_MS, NULL, NULL,
                                       ZOO_NO_LOG_CLIENTENV, ignore_log);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return handle;
}

RawZk *
raw_zk_open (const char *address)
{
  RawZk *raw = g_new0 (RawZk, 1);
  gint64 deadline = wait_now_ms () + OPEN_TIMEOUT_MS;
  raw->handle = init_handle (address);
  while (raw->handle != NULL && zoo_state (raw->handle) != ZOO_CONNECTED_STATE) {
    if (wait_now_ms () >= deadline) {
      g_clear_pointer (&raw, raw_zk_close);
      return NULL;
    }
    wait_ms (5);
  }
  return raw;
}

void
raw_zk_close (RawZk *raw)
{
  if (raw != NULL) {
    zookeeper_close (raw->handle);
    g_free (raw);
  }
}

gint64
raw_zk_session (RawZk *raw)
{
  return zoo_client_id (raw->handle)->client_id;
}

gboolean
raw_zk_is_connected (RawZk *raw)
{
  return zoo_state (raw->handle) == ZOO_CONNECTED_STATE;
}

gboolean
raw_zk_is_expired (RawZk *raw)
{
  return zoo_state (raw->handle) == ZOO_EXPIRED_SESSION_STATE;
}

static const char *
sort_key (const char *name)
{
  gsize length = strlen (name);
  return length >= 10 ? name + length - 10 : "";
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  const char *left = *(const char *const *) a;
  const char *right = *(const char *const *) b;
  int order = strcmp (sort_key (left), sort_key (right));
  return order != 0 ? order : strcmp (left, right);
}

char **
raw_zk_children (RawZk *raw, const char *path)
{
  struct String_vector strings;
  if (zoo_get_children (raw->handle, path, 0, &strings) != ZOK)
    return NULL;
  GPtrArray *names = g_ptr_array_new ();
  for (int i = 0; i < strings.count; i++)
    g_ptr_array_add (names, g_strdup (strings.data[i]));
  deallocate_String_vector (&strings);
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

int
raw_zk_count_children (RawZk *raw, const char *path)
{
  g_auto (GStrv) names = raw_zk_children (raw, path);
  return names == NULL ? -1 : (int) g_strv_length (names);
}

gboolean
raw_zk_exists (RawZk *raw, const char *path)
{
  struct Stat stat;
  const int rc = zoo_exists (raw->handle, path, 0, &stat);
  return rc == ZOK || rc == ZNOAUTH;
}

int
raw_zk_get (RawZk *raw, const char *path, GBytes **data, struct Stat *stat)
{
  g_autofree char *buffer = g_malloc (MAX_DATA);
  struct Stat ignored;
  int length = MAX_DATA;
  int rc = zoo_get (raw->handle, path, 0, buffer, &length, stat != NULL ? stat : &ignored);
  if (data != NULL)
    *data = rc == ZOK && length >= 0 ? g_bytes_new (buffer, (gsize) length) : NULL;
  return rc;
}

int
raw_zk_get_acl (RawZk *raw, const char *path, struct ACL_vector *acl)
{
  struct Stat stat;
  return zoo_get_acl (raw->handle, path, acl, &stat);
}

int
raw_zk_set_acl (RawZk *raw, const char *path, const struct ACL_vector *acl)
{
  return zoo_set_acl (raw->handle, path, -1, acl);
}

int
raw_zk_set_world_acl (RawZk *raw, const char *path, int permissions)
{
  char scheme[] = "world";
  char id[] = "anyone";
  struct ACL entry = { .perms = permissions, .id = { .scheme = scheme, .id = id } };
  struct ACL_vector acl = { .count = 1, .data = &entry };
  return raw_zk_set_acl (raw, path, &acl);
}

gint64
raw_zk_owner (RawZk *raw, const char *path)
{
  struct Stat stat;
  return zoo_exists (raw->handle, path, 0, &stat) == ZOK ? stat.ephemeralOwner : -1;
}

int
raw_zk_stat (RawZk *raw, const char *path, struct Stat *stat)
{
  return zoo_exists (raw->handle, path, 0, stat);
}

int
raw_zk_watch (RawZk *raw, const char *path)
{
  char buffer[1];
  int length = 0;
  return zoo_wget (raw->handle, path, ignore_event, NULL, buffer, &length, NULL);
}

#define UNANSWERED 1

static void
auth_answered (int rc, const void *data)
{
  g_atomic_int_set ((gint *) (gpointer) data, rc);
}

int
raw_zk_add_auth (RawZk *raw, const char *scheme, const char *cert)
{
  gint answer = UNANSWERED; /* atomic */
  int rc = zoo_add_auth (raw->handle, scheme, cert, (int) strlen (cert), auth_answered, &answer);
  while (rc == ZOK && g_atomic_int_get (&answer) == UNANSWERED)
    wait_ms (1);
  return rc == ZOK ? answer : rc;
}

int
raw_zk_set (RawZk *raw, const char *path, const char *data)
{
  return zoo_set (raw->handle, path, data, (int) strlen (data), -1);
}

int
raw_zk_set_bytes (RawZk *raw, const char *path, GBytes *data)
{
  gsize length;
  const char *bytes = g_bytes_get_data (data, &length);
  return zoo_set (raw->handle, path, bytes, (int) length, -1);
}

int
raw_zk_delete (RawZk *raw, const char *path)
{
  return zoo_delete (raw->handle, path, -1);
}

int
raw_zk_delete_tree (RawZk *raw, const char *path)
{
  g_auto (GStrv) names = raw_zk_children (raw, path);
  for (char **name = names; name != NULL && *name != NULL; name++) {
    g_autofree char *child = g_strconcat (path, "/", *name, NULL);
    raw_zk_delete_tree (raw, child);
  }
  return raw_zk_delete (raw, path);
}

int
raw_zk_create (RawZk *raw, const char *path, const char *data, int mode, char **created)
{
  char buffer[2048];
  int length = data != NULL ? (int) strlen (data) : -1;
  int rc = zoo_create (raw->handle, path, data, length, &ZOO_OPEN_ACL_UNSAFE, mode, buffer,
                       sizeof buffer);
  if (created != NULL)
    *created = rc == ZOK ? g_strdup (buffer) : NULL;
  return rc;
}

/* Only the answer to a write has the state of the node that the transaction deletes. */
int
raw_zk_replace (RawZk *raw, const char *path, GBytes *data, int mode, struct Stat *deleted)
{
  zoo_op_t ops[3];
  zoo_op_result_t results[3];
  gsize length = 0;
  int n = 0;
  if (deleted != NULL) {
    memset (deleted, 0, sizeof *deleted);
    zoo_set_op_init (&ops[n++], path, "", 0, -1, deleted);
  }
  zoo_delete_op_init (&ops[n++], path, -1);
  if (mode != RAW_ZK_NO_NODE) {
    const char *bytes = data != NULL ? g_bytes_get_data (data, &length) : NULL;
    zoo_create_op_init (&ops[n++], path, bytes, bytes != NULL ? (int) length : -1,
                        &ZOO_OPEN_ACL_UNSAFE, mode, NULL, 0);
  }
  return zoo_multi (raw->handle, n, ops, results);
}

int
raw_zk_create_bytes (RawZk *raw, const char *path, GBytes *data, int mode)
{
  gsize length = 0;
  const char *bytes = data != NULL ? g_bytes_get_data (data, &length) : NULL;
  return zoo_create (raw->handle, path, bytes, bytes != NULL ? (int) length : -1,
                     &ZOO_OPEN_ACL_UNSAFE, mode, NULL, 0);
}

int
raw_zk_reconfig (RawZk *raw, const char *joining, const char *leaving)
{
  char buffer[4096];
  int length = sizeof buffer;
  struct Stat stat;
  return zoo_reconfig (raw->handle, joining, leaving, NULL, -1, buffer, &length, &stat);
}

#define MANY_AT_ONCE 500

int
raw_zk_create_many (RawZk *raw, const char *path, const char *prefix, int n)
{
  int rc = ZOK;
  for (int done = 0; done < n && rc == ZOK; done += MANY_AT_ONCE) {
    zoo_op_t ops[MANY_AT_ONCE];
    zoo_op_result_t results[MANY_AT_ONCE];
    g_auto (GStrv) paths = g_new0 (char *, MANY_AT_ONCE + 1);
    const int part = MIN (MANY_AT_ONCE, n - done);
    for (int i = 0; i < part; i++) {
      paths[i] = g_strdup_printf ("%s/%s%010d", path, prefix, done + i);
      zoo_create_op_init (&ops[i], paths[i], NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL,
                          0);
    }
    rc = zoo_multi (raw->handle, part, ops, results);
  }
  return rc;
}

int
raw_zk_make_path (RawZk *raw, const char *path)
{
  int rc = ZOK;
  for (const char *slash = strchr (path + 1, '/'); rc == ZOK; slash = strchr (slash + 1, '/')) {
    g_autofree char *part =
        slash != NULL ? g_strndup (path, (gsize) (slash - path)) : g_strdup (path);
    rc = raw_zk_create (raw, part, "", ZOO_PERSISTENT, NULL);
    rc = rc == ZNODEEXISTS ? ZOK : rc;
    if (slash == NULL)
      break;
  }
  return rc;
}

typedef struct
{
  RawZk *raw;
  const char *path;
  int n;
} ChildrenWanted;

static gboolean
has_children (gpointer data)
{
  ChildrenWanted *wanted = data;
  return raw_zk_count_children (wanted->raw, wanted->path) == wanted->n;
}

gboolean
raw_zk_wait_children (RawZk *raw, const char *path, int n, int timeout_ms)
{
  ChildrenWanted wanted = { raw, path, n };

  if (wait_until (has_children, &wanted, timeout_ms))
    return TRUE;
  g_auto (GStrv) names = raw_zk_children (raw, path);
  g_autofree char *all = names != NULL ? g_strjoinv (" ", names) : g_strdup ("no node");
  g_printerr ("%s should have %d children after %d ms but has: %s; the observer's session is in "
              "state %d\n",
              path, n, timeout_ms, all, zoo_state (raw->handle));
  return FALSE;
}

static gboolean
is_gone (gpointer data)
{
  ChildrenWanted *wanted = data;
  return !raw_zk_exists (wanted->raw, wanted->path);
}

gboolean
raw_zk_wait_gone (RawZk *raw, const char *path, int timeout_ms)
{
  ChildrenWanted wanted = { raw, path, 0 };
  return wait_until (is_gone, &wanted, timeout_ms);
}
