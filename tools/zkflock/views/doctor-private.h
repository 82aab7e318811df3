/* The parts of doctor. */
#ifndef ZKFLOCK_DOCTOR_PRIVATE_H
#define ZKFLOCK_DOCTOR_PRIVATE_H

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
  CuratorClient *client;
  Dial *dial;
  GPtrArray *servers;
  GPtrArray *findings;
} Doctor;

void doctor_report (Doctor *doctor, Level level, const char *check, const char *subject,
                    const char *format, ...) G_GNUC_PRINTF (5, 6);

/* Certificates that expire soon or are not valid, and clear text where TLS could be used. */
void doctor_check_security (Doctor *doctor);

#endif
