/* The settings of a client: set by the setters and by start, constant afterwards. */
#pragma once

#include "base/connect_string.h"
#include "channel/channel_sasl.h"
#include "curator/curator.h"
#include "curator/stats.h"
#include "curator/tls.h"

#include <glib.h>
#include <zookeeper/zookeeper.h>

typedef struct
{
  char *scheme;
  GBytes *auth;
} CuratorAuth;

typedef struct
{
  CuratorConnectString *servers;
  char *namespace_; /* "a/b", or NULL */
  char *prefix;     /* chroot and namespace, "" or "/app/a/b" */
  int session_timeout_ms;
  int connection_timeout_ms;
  gboolean has_server_tick; /* server_tick_ms was set */
  int server_tick_ms;
  gboolean has_heartbeat;
  int heartbeat_ms;
  CuratorRetryPolicy *retry_policy;
  GPtrArray *auths;          /* CuratorAuth */
  CuratorTls *tls;           /* our copy; NULL: clear text */
  CuratorSaslSettings *sasl; /* NULL: none */
  struct ACL_vector acl;
  gboolean wants_address; /* default_data stands for this host's address */
  gboolean compression;   /* of payloads */
  gboolean follows_configuration;
  GMainContext *callback_context;
  CuratorTraceFunc trace;
  gpointer trace_data;
  GDestroyNotify trace_destroy;
} CuratorSettings;
