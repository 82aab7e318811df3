/* Nodes that are deleted together, by one transaction. Any thread; guarded by the client's mutex. */
#ifndef CURATOR_DELETE_GROUP_H
#define CURATOR_DELETE_GROUP_H

#include "base/guards.h"
#include "session/request.h"

typedef struct _CuratorDeleteGroup CuratorDeleteGroup;
typedef struct _CuratorGroupMember CuratorGroupMember;

/* One node to delete. All but path and functions is zero while it is in no group. */
struct _CuratorGroupMember
{
  CuratorDeleteGroup *group CURATOR_GUARDED;
  const char *path; /* full */
  /* Called with the client's mutex held, one of them, once; the member has left the group. answered: all
   * are deleted, or the answer is lost. alone: no transaction was sent, or a server has refused it. */
  void (*answered) (CuratorGroupMember *member, int rc);
  void (*alone) (CuratorGroupMember *member);
};

CuratorDeleteGroup *curator_delete_group_new (void) CURATOR_LOCKED;
void curator_delete_group_add (CuratorDeleteGroup *group,
                               CuratorGroupMember *member) CURATOR_LOCKED;
/* The group frees itself when it has no members left. */
void curator_delete_group_send (CuratorDeleteGroup *group, CuratorClient *client) CURATOR_LOCKED;
/* Harmless when it is in no group. The group has been sent. */
void curator_delete_group_leave (CuratorGroupMember *member) CURATOR_LOCKED;

#endif
