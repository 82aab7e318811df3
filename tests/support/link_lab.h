/* One connection of the channel (src/channel) without sockets to servers: the stream to the server,
 * its TLS, and the SASL mechanism are replaced by this file. The program decides what the server
 * sends and how the bytes arrive; every call of the channel is checked.
 *
 * Link the file in front of the library, whose objects it replaces. One thread.
 */
#pragma once

#include "channel/channel_link.h"

/* As the channel sees a mechanism: what the client says last, the server has to answer. */
typedef enum
{
  LAB_NO_LOGIN,
  LAB_SERVER_PROVES_LAST, /* DIGEST-MD5: the last challenge is the server's proof */
  LAB_CLIENT_SPEAKS_LAST  /* GSSAPI: an answer without a challenge follows */
} LabLogin;

#define LAB_STEPS 3 /* challenges of each mechanism */

typedef struct
{
  CuratorLinkContext context;
  CuratorLink *link; /* NULL: it has ended */
  int client_fd;     /* libzookeeper's end; -1: closed */

  /* The server. */
  GByteArray *script; /* what it sends */
  gsize at;           /* how much of it has been read */
  gsize chunk;        /* at most so many bytes arrive at once; 0: all */
  gsize window;       /* it takes so many bytes more */
  gboolean ends;      /* after the script */
  GByteArray *received;
  guint n_connects;

  gboolean holds_jobs; /* lab_run() does not wait for them: they end when the program says so */

  LabLogin login;
  gboolean is_proven; /* the server has shown that it knows the secret */

  GByteArray *delivered; /* to libzookeeper */
  guint n_failures;      /* servers that were left */
  gboolean is_refused;
  GString *log; /* of the failures */
} LinkLab;

extern LinkLab lab;

void lab_open (LabLogin login);
void lab_close (void);
/* libzookeeper connects and asks for that session; the server is new. */
void lab_connect (gint64 session_id, gint32 timeout_ms);
/* Until nothing moves any more. */
void lab_run (void);
/* The deadline that the link has set passes now. */
void lab_let_deadline_pass (void);

void lab_send (const void *bytes, gsize n);
void lab_send_response (gint64 session_id, gint32 timeout_ms);
/* What the true server says at that step: a challenge, or the empty answer after the last one. */
void lab_send_challenge (guint step);
void lab_send_sasl (gint32 code, const void *token, gint32 length);
void lab_client_sends (gsize n);
