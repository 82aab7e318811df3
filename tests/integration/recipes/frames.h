/* A scenario uses one recipe through a proxy that breaks the connection at one frame. It reports
 * failures with require(), and may be run again on the same path.
 *
 * Scenarios run on threads of their own, where cmocka's assertions do not work.
 */
#pragma once

#include "integration/taking.h"

typedef struct
{
  const struct _FrameScenario *scenario;
  CuratorClient *client; /* through the proxy */
  CuratorClient *peer;   /* directly to the server, without faults */
  RawZk *raw;
  const char *path; /* the parent of all nodes of the scenario */
  GString *fault;   /* the first failure; empty if none */
} FrameRun;

typedef struct _FrameScenario
{
  const char *name;
  void (*run) (FrameRun *run);
  /* For some: */
  KindNew ours;
  KindNew theirs;
  const char *at;    /* where the lock is, below the path */
  const char *queue; /* of its waiters, or NULL */
  int n;             /* leases, of so many */
} FrameScenario;

extern const FrameScenario frame_scenarios[];
extern const gsize n_frame_scenarios;
