/* Nodes that are deleted together, by one transaction.
 *
 * Curator has no counterpart. Threads: any; guarded by the client's mutex, which is held from the
 * first member to the send: no other request of the session comes between.
 */
#include "nodes/delete_group.h"

#include "core/zk_error.h"
#include "session/session.h"

#include <string.h>

/* Of the paths of one transaction. A request of more than 1 MB would cost the connection. */
#define MAX_GROUP_BYTES (64 * 1024)

struct _CuratorDeleteGroup
{
  GPtrArray *members CURATOR_GUARDED; /* CuratorGroupMember; NULL for one that has left */
  guint n_members CURATOR_GUARDED;
  gsize n_bytes CURATOR_GUARDED;
  CuratorRequest *request CURATOR_GUARDED;
};

CuratorDeleteGroup *
curator_delete_group_new (void)
{
  CuratorDeleteGroup *group = g_new0 (CuratorDeleteGroup, 1);
  group->members = g_ptr_array_new ();
  return group;
}

static CURATOR_LOCKED void
group_free (CuratorDeleteGroup *group)
{
  if (group->request != NULL)
    {
      curator_request_forget (group->request);
    }
  g_ptr_array_unref (group->members);
  g_free (group);
}

void
curator_delete_group_add (CuratorDeleteGroup *group, CuratorGroupMember *member)
{
  g_ptr_array_add (group->members, member);
  member->group = group;
  group->n_members++;
  group->n_bytes += strlen (member->path);
}

/* NULL if it has left already. */
static CURATOR_LOCKED CuratorGroupMember *
take_out (CuratorDeleteGroup *group, guint index)
{
  CuratorGroupMember *member = g_ptr_array_index (group->members, index);
  if (member != NULL)
    {
      g_ptr_array_index (group->members, index) = NULL;
      member->group = NULL;
      group->n_members--;
    }
  return member;
}

void
curator_delete_group_leave (CuratorGroupMember *member)
{
  CuratorDeleteGroup *group = member->group;
  guint index;

  if (group != NULL && g_ptr_array_find (group->members, member, &index))
    {
      take_out (group, index);
      if (group->n_members == 0)
        {
          group_free (group);
        }
    }
}

static CURATOR_LOCKED void
on_all_deleted (int rc, const CuratorZkReply *reply, gint64 sent_us, gpointer data)
{
  CuratorDeleteGroup *group = data;

  group->request = NULL;
  for (guint i = 0; i < group->members->len; i++)
    {
      CuratorGroupMember *member = take_out (group, i);
      if (member != NULL && rc != ZOK && curator_zk_is_refusal (rc))
        {
          member->alone (member);
        }
      else if (member != NULL)
        {
          member->answered (member, rc);
        }
    }
  group_free (group);
}

/* One node needs no transaction. */
void
curator_delete_group_send (CuratorDeleteGroup *group, CuratorClient *client)
{
  if (group->n_members > 1 && group->n_bytes <= MAX_GROUP_BYTES
      && curator_client_is_connected (client))
    {
      GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
      for (guint i = 0; i < group->members->len; i++)
        {
          const CuratorGroupMember *member = g_ptr_array_index (group->members, i);
          g_ptr_array_add (paths, g_strdup (member->path));
        }
      group->request = curator_request_remove_all (client->session, paths, on_all_deleted, group);
      return;
    }
  for (guint i = 0; i < group->members->len; i++)
    {
      CuratorGroupMember *member = take_out (group, i);
      member->alone (member);
    }
  group_free (group);
}
