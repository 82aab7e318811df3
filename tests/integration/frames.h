/* A scenario is what a program does with one recipe, through a proxy that breaks the connection at one
 * frame of it. It says what is wrong by require(); it may be run again on the same path.
 *
 * Scenarios run on threads of their own, where cmocka's assertions do not work.
 */
#ifndef CURATOR_TEST_FRAMES_H
#define CURATOR_TEST_FRAMES_H

#include "taking.h"

typedef struct
{
  CuratorClient *client; /* through the proxy */
  CuratorClient *peer;   /* beside it, undisturbed */
  RawZk *raw;
  const char *path;      /* all that the scenario makes is below it */
  GString *fault;        /* the first thing that was wrong; empty */
} FrameRun;

typedef struct
{
  const char *name;
  void (*run) (FrameRun *run);
} FrameScenario;

extern const FrameScenario frame_scenarios[];
extern const gsize n_frame_scenarios;

#endif
