/* The data tree of a simulated server. See sim_tree.h. Runs with the baton, locks nothing. */
#include "sim_tree.h"

#include <string.h>

static void
node_free (gpointer data)
{
  SimNode *node = data;

  g_ref_string_release (node->path);
  g_clear_pointer (&node->children, g_ptr_array_unref);
  g_bytes_unref (node->data);
  g_free (node);
}

SimTree *
sim_tree_new (void)
{
  SimTree *tree = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, node_free);
  SimNode *root = g_new0 (SimNode, 1);

  *root = (SimNode){ .path = g_ref_string_new ("/"), .data = g_bytes_new (NULL, 0) };
  g_hash_table_insert (tree, root->path, root);
  return tree;
}

SimNode *
sim_tree_lookup (SimTree *tree, const char *path)
{
  return g_hash_table_lookup (tree, path);
}

SimNode *
sim_tree_lookup_parent (SimTree *tree, const char *path)
{
  const char *slash = strrchr (path, '/');

  if (slash == NULL || slash[1] == '\0')
    return NULL;
  g_autofree char *parent = g_strndup (path, MAX (slash - path, 1));
  return sim_tree_lookup (tree, parent);
}

void
sim_tree_create (SimTree *tree, char *path, GBytes *data, gint64 owner, gboolean container,
                 gint64 zxid)
{
  SimNode *parent = sim_tree_lookup_parent (tree, path);
  SimNode *node = g_new0 (SimNode, 1);

  node->path = g_ref_string_acquire (path);
  node->parent = parent;
  node->data = g_bytes_ref (data);
  node->owner = owner;
  node->container = container;
  node->czxid = node->mzxid = node->pzxid = zxid;
  if (parent->children == NULL)
    parent->children = g_ptr_array_new ();
  g_ptr_array_add (parent->children, node);
  parent->pzxid = zxid;
  /* The stored counter stays at its maximum, as in every ZooKeeper so far. */
  if (parent->created < G_MAXINT32)
    parent->created++;
  g_hash_table_insert (tree, node->path, node);
}

void
sim_tree_delete (SimTree *tree, const char *path, gint64 zxid)
{
  SimNode *node = sim_tree_lookup (tree, path);

  g_ptr_array_remove (node->parent->children, node);
  node->parent->pzxid = zxid;
  g_hash_table_remove (tree, path);
}

void
sim_tree_set (SimTree *tree, const char *path, GBytes *data, gint64 zxid)
{
  SimNode *node = sim_tree_lookup (tree, path);

  g_bytes_unref (node->data);
  node->data = g_bytes_ref (data);
  node->mzxid = zxid;
  node->version++;
}

const char *
sim_node_name (const SimNode *node)
{
  return strrchr (node->path, '/') + 1;
}

guint
sim_node_n_children (const SimNode *node)
{
  return node->children == NULL ? 0 : node->children->len;
}

void
sim_node_stat (const SimNode *node, struct Stat *stat)
{
  memset (stat, 0, sizeof *stat);
  stat->czxid = node->czxid;
  stat->mzxid = node->mzxid;
  stat->pzxid = node->pzxid;
  stat->version = node->version;
  /* The cversion that a server returns counts removals, too. */
  stat->cversion = (gint32) ((guint32) node->created * 2 - sim_node_n_children (node));
  stat->ephemeralOwner = node->owner;
  stat->dataLength = (gint32) g_bytes_get_size (node->data);
  stat->numChildren = (gint32) sim_node_n_children (node);
}

void
sim_tree_foreach (SimTree *tree, void (*func) (SimNode *node, gpointer data), gpointer data)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, tree);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    func (value, data);
}
