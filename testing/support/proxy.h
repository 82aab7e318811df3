/* A TCP proxy in front of one ZooKeeper server that understands frames, so that a test can, for
 * example, lose exactly the reply to the second create.
 *
 * One thread of its own does all the work; every function here may be called from any thread and
 * has taken effect when it returns. It never reorders frames, and never drops a reply on a
 * connection that stays open: TCP cannot do that either.
 */
#pragma once

#include <glib.h>

typedef struct _Proxy Proxy;

typedef enum
{
  PROXY_PASS,
  PROXY_HOLE,           /* sockets stay, nothing is forwarded; held frames are forwarded after PASS,
                         * except on connections that their client has closed meanwhile */
  PROXY_HOLE_TO_SERVER, /* requests are held back, replies still flow */
  PROXY_HOLE_TO_CLIENT, /* replies are held back, requests still flow */
  PROXY_OFF,            /* PROXY_HOLE, and clients get no acknowledgement either: the host is off */
  PROXY_REFUSE,         /* connections are cut and new ones refused */
  PROXY_DESERT          /* the same for clients, but their servers only ever see silence */
} ProxyMode;

/* The action at a request that a rule matches. */
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
  PROXY_EVENT = -1 /* no request: a watch event from the server */
};

/* server: "host:port". Listens on an address of its own; NULL on failure. */
Proxy *proxy_new (const char *server);
/* The same for any protocol: bytes are forwarded unparsed, so rules and counts do not apply.
 * Listens on a free port of that loopback address. */
Proxy *proxy_new_raw (const char *server, const char *host);
/* For a raw proxy in front of an election port: a connecting server sends the address for calling
 * it back, and the other one often uses it. The proxy replaces that address by this one. */
void proxy_set_call_back (Proxy *proxy, const char *address);
void proxy_free (Proxy *proxy); /* cuts every connection; NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Proxy, proxy_free)
const char *proxy_address (Proxy *proxy);

void proxy_set_mode (Proxy *proxy, ProxyMode mode);
void proxy_set_delay (Proxy *proxy, int to_server_ms, int to_client_ms);
/* New connections get a new session even if their client asks for an existing one, as from a server
 * that has silently forgotten the session. */
void proxy_forget_sessions (Proxy *proxy, gboolean forget);
/* The next n connections are accepted, and nothing is forwarded on them until proxy_let_go(). */
void proxy_silence (Proxy *proxy, int n);
int proxy_silent_left (Proxy *proxy); /* how many of these have not come yet */
/* It is reached at another address from now on, on the same port; every connection is cut. FALSE if
 * no address is free. */
gboolean proxy_move (Proxy *proxy);
/* RST on every connection but those that were accepted in silence, now; new ones are accepted. */
void proxy_cut (Proxy *proxy);

/* From now on count requests of that type (PROXY_ANY_REQUEST: all but pings) and do the action at
 * the k-th (first: 1) and the n - 1 that follow it. Replaces the rule armed before. */
void proxy_arm (Proxy *proxy, int type, int k, int n, ProxyAction action);
void proxy_disarm (Proxy *proxy);
/* How often the rule's action was executed since proxy_arm(). */
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
int proxy_connections (Proxy *proxy);   /* open now */
int proxy_accepted (Proxy *proxy);      /* since the start */

/* One frame that was forwarded after the session was greeted. */
typedef struct
{
  gint64 session;
  int type; /* of the request that it is or answers, or PROXY_EVENT */
  gboolean is_reply;
  int code;       /* a reply's error, an event's type */
  gboolean watch; /* the request sets one */
  char *path;     /* of the request, the event, or the created node; NULL where there is none */
} ProxyFrame;

/* From now on every frame is logged; the earlier log is discarded. */
void proxy_log_start (Proxy *proxy);
/* Array of ProxyFrame in the order of forwarding, to be freed. Empty without proxy_log_start(). */
GPtrArray *proxy_log_copy (Proxy *proxy);

/* The session that the server granted or confirmed last, and the password that goes with it. */
gboolean proxy_last_session (Proxy *proxy, gint64 *id, guint8 password[16]);
gboolean proxy_password_of (Proxy *proxy, gint64 id, guint8 password[16]);
