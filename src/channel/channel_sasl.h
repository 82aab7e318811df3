/* One SASL authentication of one connection, by Cyrus SASL.
 *
 * Mirrors ZooKeeperSaslClient. curator_sasl_step() may block, for a KDC for instance, so it runs as
 * a job; no other function is called meanwhile. A build without Cyrus SASL refuses the settings.
 */
#pragma once

#include "base/refs.h"

#include <glib.h>
#include <stdatomic.h>

/* Constant but for is_stepping; jobs may outlive the client. */
typedef struct
{
  CuratorRefs refs;
  const char *mechanism; /* "DIGEST-MD5" or "GSSAPI" */
  const char *package;   /* where Debian has its module */
  char *user;            /* DIGEST-MD5 */
  char *password;
  char *service;
  char *server_name; /* NULL: the host */
  atomic_bool
      is_stepping; /* one step of one authentication at a time: a KDC that hangs costs one thread */
} CuratorSaslSettings;

CuratorSaslSettings *curator_sasl_settings_new_digest (const char *user, const char *password);
CuratorSaslSettings *curator_sasl_settings_new_gssapi (const char *service,
                                                       const char *server_name);
void curator_sasl_settings_unref (CuratorSaslSettings *settings);

gboolean curator_sasl_is_built_in (void);
/* Loads Cyrus SASL's modules, before any thread of a channel needs them. FALSE with UNSUPPORTED if
 * that of the mechanism is not installed, or RESOURCES. */
gboolean curator_sasl_load (const CuratorSaslSettings *settings, GError **error);

typedef struct _CuratorSasl CuratorSasl;

/* What a step has brought. */
typedef struct
{
  GError *error;        /* NULL: it has not failed */
  GBytes *response;     /* to be sent to the server, perhaps without a byte; NULL: nothing */
  gboolean is_complete; /* the server is authenticated as far as the mechanism does that, and no
                           further step is needed */
} CuratorSaslOutcome;

CuratorSasl *curator_sasl_new (CuratorSaslSettings *settings, const char *host);
CuratorSasl *curator_sasl_ref (CuratorSasl *sasl);
void curator_sasl_unref (gpointer sasl);

/* What the server has sent, before each step but the first. */
void curator_sasl_set_challenge (CuratorSasl *sasl, const guint8 *bytes, gsize n);
void curator_sasl_step (gpointer sasl);
/* Before each step. FALSE: one with the same settings has not ended. */
gboolean curator_sasl_begin_step (CuratorSasl *sasl);
/* The step that was begun will not be done. */
void curator_sasl_end_step (CuratorSasl *sasl);

/* Of the newest step that has ended. Borrowed. */
const CuratorSaslOutcome *curator_sasl_outcome (CuratorSasl *sasl);
