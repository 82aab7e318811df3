/* A TCP proxy in front of one ZooKeeper server that understands frames, so that a test can say
 * "lose the reply to the second create" and mean exactly that.
 *
 * One thread of its own does all the work; every function here may be called from any thread and
 * has taken effect when it returns. Nothing is ever reordered, and a reply is never left out of a
 * connection that lives on: TCP cannot do that either.
 */
#ifndef CURATOR_TEST_PROXY_H
#define CURATOR_TEST_PROXY_H

#include <glib.h>

typedef struct _Proxy Proxy;

typedef enum
{
  PROXY_PASS,
  PROXY_HOLE,           /* sockets stay, nothing is forwarded; what piled up flows on after PASS,
                         * except on connections that their client has closed meanwhile */
  PROXY_HOLE_TO_SERVER, /* requests pile up, replies still flow */
  PROXY_HOLE_TO_CLIENT, /* replies pile up, requests still flow */
  PROXY_REFUSE,         /* connections are cut and new ones refused */
  PROXY_DESERT          /* the same for clients, but their servers only ever see silence */
} ProxyMode;

/* What happens at a request that a rule picks. */
typedef enum
{
  PROXY_CUT_BEFORE,        /* the server never sees the request: RST to the client */
  PROXY_CUT_BEFORE_REPLY,  /* the server executes it; its reply is swallowed, then RST */
  PROXY_CUT_AFTER_REPLY,   /* the reply still arrives, then RST */
  PROXY_HOLE_BEFORE,       /* the whole proxy becomes PROXY_HOLE, the request waits in it */
  PROXY_HOLE_BEFORE_REPLY, /* the server executes it; the reply waits in the hole */
  PROXY_HOLD_REQUEST,      /* this connection's requests wait until proxy_let_go() */
  PROXY_HOLD_REPLY         /* the server executes it; replies wait until proxy_let_go() */
} ProxyAction;

/* Request types, as on the wire. */
enum
{
  PROXY_ANY_REQUEST = 0,
  PROXY_CREATE = 1,
  PROXY_DELETE = 2,
  PROXY_EXISTS = 3,
  PROXY_GET_DATA = 4,
  PROXY_SET_DATA = 5,
  PROXY_GET_CHILDREN = 8,
  PROXY_SYNC = 9,
  PROXY_PING = 11,
  PROXY_GET_CHILDREN2 = 12,
  PROXY_MULTI = 14,
  PROXY_CREATE2 = 15,
  PROXY_REMOVE_WATCHES = 18,
  PROXY_CREATE_CONTAINER = 19,
  PROXY_AUTH = 100,
  PROXY_SET_WATCHES = 101,
  PROXY_CLOSE_SESSION = -11,
  PROXY_EVENT = -1 /* no request: what a server tells of a watch */
};

/* server: "host:port". Listens on an address of its own; NULL when it cannot. */
Proxy *proxy_new (const char *server);
/* The same for any protocol: bytes are forwarded as they come, rules and counts see nothing. Listens
 * on a free port of that loopback address. */
Proxy *proxy_new_raw (const char *server, const char *host);
/* For a raw proxy in front of an election port: a server that connects tells where it can be called
 * back, and the other one often does. The proxy puts this address in place of what it tells. */
void proxy_set_call_back (Proxy *proxy, const char *address);
void proxy_free (Proxy *proxy); /* cuts every connection; NULL is fine */
const char *proxy_address (Proxy *proxy);

void proxy_set_mode (Proxy *proxy, ProxyMode mode);
void proxy_set_delay (Proxy *proxy, int to_server_ms, int to_client_ms);
/* Connections that are made from now on ask for a new session, whatever their client asks for: what
 * servers do that have forgotten it and do not say so. */
void proxy_forget_sessions (Proxy *proxy, gboolean forget);
void proxy_cut (Proxy *proxy); /* RST on every connection, now; new ones are welcome */

/* From now on count requests of that type (PROXY_ANY_REQUEST: all but pings) and do the action at
 * the k-th (first: 1) and the n - 1 that follow it. Replaces the rule armed before. */
void proxy_arm (Proxy *proxy, int type, int k, int n, ProxyAction action);
void proxy_disarm (Proxy *proxy);
/* How often the rule's action has been done since proxy_arm(). */
int proxy_fired (Proxy *proxy);
gboolean proxy_wait_fired (Proxy *proxy, int times, int timeout_ms);
void proxy_let_go (Proxy *proxy);

/* Requests of that type seen since the last reset (PROXY_ANY_REQUEST: all but pings). */
int proxy_count (Proxy *proxy, int type);
/* Bytes of whole frames that went each way since the last reset, their four bytes of length, pings
 * and connect requests included. */
typedef struct
{
  guint64 to_server;
  guint64 to_client;
} ProxyBytes;

ProxyBytes proxy_bytes (Proxy *proxy);
void proxy_reset_counts (Proxy *proxy); /* of requests and bytes */
int proxy_connections (Proxy *proxy); /* open now */
int proxy_accepted (Proxy *proxy);    /* since the start */

/* One frame that was forwarded after the session was greeted. */
typedef struct
{
  gint64 session;
  int type; /* of the request that it is or answers, or PROXY_EVENT */
  gboolean is_reply;
  int code;       /* a reply's error, an event's type */
  gboolean watch; /* the request sets one */
  char *path;     /* asked for, told of, or made by a create; NULL where there is none */
} ProxyFrame;

/* From now on every frame is noted; what was noted before is forgotten. */
void proxy_log_start (Proxy *proxy);
/* ProxyFrame, in the order in which they passed; the caller's. Empty without proxy_log_start(). */
GPtrArray *proxy_log_copy (Proxy *proxy);

/* The session that the server granted or confirmed last, and the password that goes with it. */
gboolean proxy_last_session (Proxy *proxy, gint64 *id, guint8 password[16]);
gboolean proxy_password_of (Proxy *proxy, gint64 id, guint8 password[16]);

#endif
