/* A client with one handle that logs events and completions: raw calls through the ops table. */
#pragma once

#include "sim.h"

#include "support/suite.h"

#define TIMEOUT_MS 6000

typedef struct
{
  SimWorld *world;
  SimProcess *process;
  CuratorZkOps *ops;
  CuratorZkHandle *handle;
  GString *log; /* one word for each event and completion, in order */
  gint64 session;
  SimWorld *owned; /* that goes with it; may be NULL */
} Peer;

typedef struct
{
  CuratorZkTicket ticket;
  Peer *peer;
  char name;
  gboolean done;
  int rc;
  char *path;
  char *data;
  char **children;
  struct Stat stat;
  int failed_index;
} Call;

Call *call_new (Peer *peer, char name);
void call_free (Call *call);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Call, call_free)
void expect_log (Peer *peer, const char *expected);
void settle (Peer *peer);
void peer_open (Peer *peer);
void peer_close (Peer *peer);
Peer *peer_new (SimWorld *world, const char *name);
/* In a world of its own. */
Peer *peer_new_alone (guint32 seed, int n_servers);
void peer_free (Peer *peer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Peer, peer_free)
Call *start_create (Peer *peer, char name, const char *path, int mode);
Call *start_read (Peer *peer, char name, SimOp op, const char *path, gboolean watch);
Call *start_remove (Peer *peer, char name, const char *path);
Call *start_check (Peer *peer, char name, const char *path, const char *other);
/* Waits for the completion. */
int finish (Call *call);
