/* Addresses in front of one server, each of which can go away in a way of its own.
 *
 * A thread passes bytes on, whatever they are. Every function may be called from any thread and has
 * taken effect when it returns.
 */
#pragma once

#include <glib.h>

typedef enum
{
  HOST_SERVES,
  HOST_REFUSES,
  HOST_DROPS,  /* no answer to a SYN */
  HOST_SILENT, /* accepts, and says nothing */
  HOST_CLOSES, /* accepts, then closes */
  HOST_LATE,   /* the server's answer to the request for a session comes late */
  HOST_HALF    /* the server's first words are cut in the middle, and nothing follows */
} HostWay;

typedef struct _Hosts Hosts;

/* server: "a.b.c.d:port". is_tls: the client speaks twice before it is answered about its
 * session. */
Hosts *hosts_new (const char *server, guint n, gboolean is_tls);
void hosts_free (Hosts *hosts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Hosts, hosts_free)
/* "a.b.c.d:port"; all have the same port. */
const char *hosts_address (Hosts *hosts, guint i);
/* A host that serves goes away for good; ends its connections. */
void hosts_set (Hosts *hosts, guint i, HostWay way);
void hosts_cut (Hosts *hosts, guint i);
/* Through which the server has answered about a session, and that is open; -1: none. */
int hosts_find_connected (Hosts *hosts);
