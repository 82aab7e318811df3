/* A server of the test's own that answers as ZooKeeper does, but for one field of one kind of reply.
 *
 * Runs on a thread of the calling process, until that ends. It has one node, in a lock's queue.
 */
#pragma once

#include "list_makers.h"

typedef enum
{
  REPLY_CONNECT,
  REPLY_CREATE,
  REPLY_CHILDREN,
  REPLY_DATA,
  REPLY_EXISTS,
  REPLY_DELETE,
  REPLY_MULTI,
  REPLY_EVENT, /* of a watch, behind the answer to exists */
  N_REPLIES
} ReplyKind;

typedef enum
{
  LIE_MINUS_ONE,
  LIE_ZERO,
  LIE_ONE_LESS,
  LIE_ONE_MORE,
  LIE_MOST,    /* 2^31-1 */
  LIE_ABSENT,  /* the field and all behind it */
  LIE_TWICE,   /* the field */
  LIE_FOREIGN, /* another text */
  N_LIES
} LieKind;

typedef struct
{
  ReplyKind reply;
  guint field;
  LieKind lie;
} Lie;

extern const char *const lying_replies[N_REPLIES];
extern const char *const lying_lies[N_LIES];

/* The fields of a reply, in order. NULL: there is no such field. */
const char *lying_server_field (ReplyKind reply, guint field);
/* FALSE: a number has no other text, and a text no next number. */
gboolean lying_server_applies (const Lie *lie);
/* lie: NULL for none. with: a certificate for TLS, or NULL. "127.0.0.1:port", to be freed. */
char *lying_server_start (const Lie *lie, const Party *with);
