#pragma once

#include "base/options.h"
#include "views/servers.h"

#include <curator/curator.h>

typedef enum
{
  LEVEL_NOTE,    /* a check could not be made */
  LEVEL_WARNING, /* a problem to come */
  LEVEL_PROBLEM  /* a problem now */
} Level;

typedef struct
{
  const Options *options;
  gint64 began_ms; /* since 1970, before it was connected */
  CuratorClient *client;
  Dial *dial;
  GPtrArray *servers;
  GString *findings;
  gboolean has_problem; /* there is one that is no note */
} Doctor;

void doctor_report (Doctor *doctor, Level level, const char *check, const char *subject,
                    const char *format, ...) G_GNUC_PRINTF (5, 6);
