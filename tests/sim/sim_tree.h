/* A ZooKeeper data tree: nodes, versions, the counter behind sequential names.
 *
 * Mirrors DataTree and the checks of PrepRequestProcessor. Pure data: it knows no session, no
 * watch and no clock. Runs on whichever thread has the baton.
 */
#pragma once

#include <glib.h>
#include <zookeeper/zookeeper.h>

typedef struct _SimNode SimNode;
typedef GHashTable SimTree; /* path -> SimNode */

struct _SimNode
{
  char *path; /* GRefString */
  SimNode *parent;
  GPtrArray *children; /* in order of creation; NULL until there is one */
  GBytes *data;
  gint64 czxid;
  gint64 mzxid;
  gint64 pzxid;
  gint64 owner;
  gint32 version;
  gint32 created; /* children ever created: the next sequence number */
  gboolean container;
};

SimTree *sim_tree_new (void);
SimNode *sim_tree_lookup (SimTree *tree, const char *path);
/* NULL if the parent of path does not exist. */
SimNode *sim_tree_lookup_parent (SimTree *tree, const char *path);

/* These apply a change that was checked before. path is a GRefString. */
void sim_tree_create (SimTree *tree, char *path, GBytes *data, gint64 owner, gboolean container,
                      gint64 zxid);
void sim_tree_delete (SimTree *tree, const char *path, gint64 zxid);
void sim_tree_set (SimTree *tree, const char *path, GBytes *data, gint64 zxid);

const char *sim_node_name (const SimNode *node);
guint sim_node_n_children (const SimNode *node);
void sim_node_stat (const SimNode *node, struct Stat *stat);

/* Every node, in an unspecified order. */
void sim_tree_foreach (SimTree *tree, void (*func) (SimNode *node, gpointer data), gpointer data);
