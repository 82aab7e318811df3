#pragma once

#include "base/options.h"

typedef struct _Probe Probe;

/* Why a server cannot be used. */
typedef enum
{
  CAUSE_PENDING = 1 << 0,
  CAUSE_NOT_ASKED = 1 << 1,
  CAUSE_UNKNOWN_HOST = 1 << 2,
  CAUSE_REFUSED = 1 << 3,
  CAUSE_UNREACHABLE = 1 << 4, /* another error of the connection */
  CAUSE_SILENT = 1 << 5,      /* connected, then nothing */
  CAUSE_CLOSED = 1 << 6,      /* connected, then closed without an answer */
  CAUSE_TLS = 1 << 7,         /* TLS or a certificate was refused */
  CAUSE_WANTS_TLS = 1 << 8,   /* answers TLS only */
  CAUSE_FOREIGN = 1 << 9,
  CAUSE_NO_QUORUM = 1 << 10,
  CAUSE_READ_ONLY = 1 << 11, /* no quorum either, for longer than an election takes */
  CAUSE_SERVES = 1 << 12     /* though the client has no session */
} Cause;

/* A server with one of these has answered in its way: no more is to be expected. */
#define CAUSES_FINAL                                                                               \
  (CAUSE_UNKNOWN_HOST | CAUSE_REFUSED | CAUSE_TLS | CAUSE_WANTS_TLS | CAUSE_FOREIGN                \
   | CAUSE_NO_QUORUM | CAUSE_READ_ONLY)

/* Starts one thread for each server of the connect string. A thread asks twice at most, and each
 * time gives up after timeout_ms, except in a slow name resolution. */
Probe *probe_start (const Options *options, gint64 timeout_ms);
/* The causes of all servers, or 0 if there are none or probe is NULL. */
guint probe_causes (Probe *probe);
/* For example "zk1:2181: connection refused; zk2:2181: unknown host". */
char *probe_describe (Probe *probe);
/* Whether a thread of any probe still runs. The process must not end by exit() then: that takes
 * down GnuTLS under the thread. */
gboolean probe_is_running (void);
/* Does not wait for the threads. NULL is allowed. */
void probe_free (Probe *probe);
