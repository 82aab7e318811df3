/* The reaper: what becomes of creates that nobody waits for any more. It finds their nodes, and
 * deletes them. */
#pragma once

#include "session/request.h"

/* A create whose outcome may stay unknown. */
typedef struct
{
  const char *parent;
  const char *prefix;     /* "_c_<uuid>-" if the name begins with it, else NULL */
  const char *name;       /* the name after the prefix */
  gboolean sequential;    /* the server appends a number */
  gboolean identifiable;  /* no other client can have created an equal node */
  gboolean wants_parents; /* makes the parents if they are missing: a create will follow */
  gboolean ephemeral;     /* owned by the session */
  gint64 session_id;      /* of the create */
  GBytes *payload;
} CuratorUnknownCreate;

/* The outcome is unknown: deletes the child with the prefix, whenever it comes; no other create may
 * use that prefix. Without a prefix, deletes the node of that name, or each one with a number, if
 * owner and payload match and no hold here uses it. A node that is not identifiable stays, with a
 * warning: it may be a hold of another client. */
void curator_reaper_delete_unknown (CuratorClient *client,
                                    const CuratorUnknownCreate *unknown) CURATOR_LOCKED;
/* The children of parent, by whatever list: deletes those of such creates. */
void curator_reaper_note_list (CuratorClient *client, const char *parent,
                               const struct String_vector *children) CURATOR_LOCKED;
/* The create is in flight and its caller gave up: deletes the node that it creates. */
void curator_reaper_adopt_create (CuratorClient *client, CuratorRequest *request,
                                  const CuratorUnknownCreate *unknown) CURATOR_LOCKED;
