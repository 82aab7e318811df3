/* Shared by the proxy's thread (proxy.c) and its connections (proxy_conn.c). The proxy's mutex
 * protects all of it; except for the fields under "orders", only the proxy's thread uses it. */
#pragma once

#include "proxy.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>

#define COUNT_SLOT(type) ((guint8) (type))

typedef struct
{
  int type;
  int skip; /* matching requests still to let pass */
  int left; /* actions still to do */
  ProxyAction action;
} ProxyRule;

struct _Proxy
{
  char *server;
  char *address;
  gboolean raw;    /* bytes, no frames */
  char *call_back; /* raw: see proxy_set_call_back(); NULL if the greeting stays as it is */
  struct sockaddr_in name;
  int listen_fd;
  int wake_fd;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;

  /* orders, given by any thread */
  ProxyMode mode;
  gboolean forget_sessions;
  int n_silent; /* connections still to be accepted in silence */
  int delay_to_server_ms;
  int delay_to_client_ms;
  gboolean is_off; /* the mode that the sockets have */
  gboolean cut;
  gboolean let_go;
  gboolean moves;
  gboolean quit;
  guint64 orders_given;
  guint64 orders_done;

  ProxyRule rule;
  int fired;
  int counts[256];
  ProxyBytes bytes;
  int accepted;
  GPtrArray *conns;
  GArray *deserted; /* sockets to the server of clients that were cut off without its knowledge */
  GHashTable *passwords; /* gint64 * to guint8[16] */
  GPtrArray *log;        /* ProxyFrame; NULL until it is started */
  gint64 last_session;
};

typedef struct
{
  GByteArray *in;   /* read, an incomplete frame */
  GQueue frames;    /* whole frames with the time to forward each */
  GByteArray *out;  /* being written */
  gboolean greeted; /* the connect request or response has passed */
  gboolean ended;   /* its source has closed */
} ProxyPipe;

typedef struct
{
  Proxy *proxy;
  int client_fd;
  int server_fd; /* -1 until the first time that requests may flow */
  ProxyPipe to_server;
  ProxyPipe to_client;
  GHashTable *replies; /* xid to 1 + ProxyAction */
  GHashTable *asked;   /* xid to the type of its request, while there is a log */
  gint64 session;      /* 0 until the server has greeted */
  gboolean examined;   /* the rule has already seen the first waiting request */
  gboolean hold_requests;
  gboolean hold_replies;
  gboolean is_silent; /* holds both since it was accepted */
  gboolean abandoned; /* its client closed it inside a hole */
  gboolean dead;
} ProxyConn;

ProxyConn *proxy_conn_new (Proxy *proxy, int client_fd);
void proxy_conn_free (ProxyConn *conn); /* also closes its sockets */
/* Delivers the pending requests to the server, then resets the client. */
void proxy_conn_cut (ProxyConn *conn);
/* Resets the client and returns the socket to the server, which notices nothing; -1 if none. */
int proxy_conn_desert (ProxyConn *conn);

/* Before a hole ends: the proxy's thread may not have seen yet that the client has closed. */
void proxy_conn_note_abandoned (ProxyConn *conn);
void proxy_conn_prepare (ProxyConn *conn, struct pollfd *client, struct pollfd *server);
void proxy_conn_handle (ProxyConn *conn, short client_events, short server_events);
/* The time of the next delayed frame, G_MAXINT64 if none waits. */
gint64 proxy_conn_due_ns (ProxyConn *conn);

/* The election greeting at the start of in, complete? Its length, or 0. */
guint proxy_greeting_length (const GByteArray *in);
/* The same greeting with that address in it. */
GByteArray *proxy_greeting_with (const guint8 *greeting, const char *address);

/* Called by a connection for each forwarded frame; does nothing without a log. */
void proxy_log_request (ProxyConn *conn, const guint8 *frame, guint length);
void proxy_log_reply (ProxyConn *conn, const guint8 *frame, guint length);
