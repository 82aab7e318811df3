/* The kinds of disturbance: how often each has come, and how often it has had its effect. */
#pragma once

#include "figures.h"

typedef enum
{
  CHAOS_KIND_SERVERS,    /* frozen, killed, cut off from each other */
  CHAOS_KIND_PATHS,      /* a process's paths to the servers */
  CHAOS_KIND_PROCESSES,  /* killed, stopped */
  CHAOS_KIND_SESSIONS,   /* a client reconnects to a member that grants another session timeout */
  CHAOS_KIND_ROLLING,    /* members restarted one after the other with another configuration */
  CHAOS_KIND_RECONFIG,   /* a member leaves the running ensemble, and joins it again */
  CHAOS_KIND_DISK,       /* a server's disk is full */
  CHAOS_KIND_SLEEP,      /* a machine sleeps */
  CHAOS_KIND_DELETION,   /* a third party deletes nodes */
  CHAOS_KIND_RECREATION, /* … and creates others of the same names */
  CHAOS_KIND_ACL,        /* a third party takes away permissions */
  CHAOS_KIND_QUOTA,      /* a third party sets quotas */
  CHAOS_KIND_MOVES,      /* servers that are reached at other addresses */
  CHAOS_KIND_HOSTILE,    /* names that resolve to a host which sends hostile bytes */
  CHAOS_KIND_ABSENT,     /* lists of servers with an address at which no server is */
  CHAOS_KIND_FORKS,      /* children of busy processes, which live on */
  CHAOS_KIND_BLOCKS,     /* user code that blocks for longer than a session lives */
  CHAOS_KIND_ENDS,       /* clients and threads that end at any moment, from anywhere */
  CHAOS_KINDS
} ChaosKind;

typedef struct
{
  guint chosen;                /* bits */
  guint happened[CHAOS_KINDS]; /* each as often */
  guint took_effect[CHAOS_KINDS];
} ChaosKinds;

/* Names with commas between them; NULL: all kinds. FALSE, after a message, if one is unknown. */
gboolean chaos_kinds_choose (ChaosKinds *kinds, const char *names);
gboolean chaos_kinds_has (const ChaosKinds *kinds, ChaosKind kind);
/* One of these (bits) that is chosen, or CHAOS_KINDS. */
ChaosKind chaos_kinds_pick (const ChaosKinds *kinds, GRand *rand, guint among);

/* The one that has come least often. */
ChaosKind chaos_kinds_pick_rarest (const ChaosKinds *kinds, guint among);

/* Prints the numbers and adds them to the figures. Returns how many chosen kinds have had no
 * effect. */
guint chaos_kinds_report (const ChaosKinds *kinds, FILE *figures);
