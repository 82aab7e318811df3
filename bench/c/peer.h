/* The benchmark's peer for this library, one verb or more a file. The programs in ../java,
 * ../kazoo and ../go understand the same protocol, so that the rig can treat all four alike:
 *
 *   request    VERB key=value ...        on stdin
 *   reply      ok key=value ...          on stdout
 *
 * A verb with a preparation answers "ready ..." first and waits for the line "go". Any failure ends
 * the process with a message on stderr, so that no wrong figure is reported.
 */
#pragma once

#include <curator/curator.h>

typedef struct
{
  char *verb;
  GHashTable *values;
} Request;

/* Both exit when the key is missing. */
const char *request_text (const Request *request, const char *key);
gint64 request_number (const Request *request, const char *key);
/* FALSE when the key is missing. */
gboolean request_flag (const Request *request, const char *key);

/* Before and after all other calls. */
void peer_init (void);
void peer_clear (void);
G_NORETURN void peer_die (const char *what, const GError *error);
/* Prints one line and flushes it. */
void peer_reply (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Prints "ready" and returns at "go". */
void peer_ready_steady (const char *format, ...) G_GNUC_PRINTF (1, 2);

gint64 peer_now_ns (void);

/* The i-th session to the server that the key names, connected; kept until peer_clear().
 * "session_ms" in the request sets its timeout. */
CuratorClient *peer_session (const Request *request, const char *server_key, int i);
/* The same, but does not wait for the connection. */
CuratorClient *peer_start_session (const Request *request, const char *server_key, int i);
/* Returns when n nodes queue for the lock. */
void peer_await_nodes (CuratorLock *lock, int n);
/* Returns when n nodes of that recipe queue at the request's path. Asks the server at the request's
 * "observe", so that a proxy in between does not count these requests. */
void peer_await_queue (const Request *request, const char *recipe, int n);

/* Durations. Their distribution is printed as the 101 quantiles from 0 to 100 in microseconds, as
 * "12.3,12.9,...". */
typedef struct
{
  GArray *ns;
} Samples;

void samples_init (Samples *samples);
void samples_add (Samples *samples, gint64 ns);
void samples_take (Samples *samples, Samples *from); /* empties from */
void samples_clear (Samples *samples);
char *samples_quantiles (Samples *samples);

/* A baseline without this library: the requests of a lock, sent through libzookeeper in a session
 * of its own. The parent must exist. */
typedef struct _Bare Bare;

Bare *bare_new (const char *server, const char *path, gboolean is_semaphore, gboolean async);
void bare_acquire (Bare *bare);
void bare_release (Bare *bare);
/* Creates the nodes of n waiters; deletes them. */
void bare_queue (Bare *bare, guint n);
void bare_drain (Bare *bare);
void bare_free (Bare *bare);

/* Another one without libzookeeper: a blocking socket, for a mutex without contention. */
typedef struct _BareSocket BareSocket;

BareSocket *bare_socket_new (const char *server, const char *path, gboolean async);
void bare_socket_acquire (BareSocket *bare);
void bare_socket_release (BareSocket *bare);
void bare_socket_free (BareSocket *bare);

/* A lock of any recipe, acquired and released by one thread. */
typedef struct
{
  CuratorLock *lock;
  CuratorRwLock *pair;
  CuratorSemaphore *semaphore;
  CuratorLease *lease;
  Bare *bare;
  BareSocket *socket;
  gboolean async; /* does not wait until a release is confirmed */
} Recipe;

/* name: mutex, read, write, semaphore (of one lease), semaphore8, semmutex, multi (of eight
 * mutexes) */
void recipe_init (Recipe *recipe, const char *name, CuratorClient *client, const char *path,
                  gboolean async);
/* The request's recipe, or a mutex if it names none, in the i-th session to its server. "bare",
 * "bare-semaphore" and "bare-socket" are baselines without this library. */
void recipe_init_asked (Recipe *recipe, const Request *request, int i);
void recipe_acquire (Recipe *recipe);
void recipe_release (Recipe *recipe);
void recipe_clear (Recipe *recipe);

void verb_solo (const Request *request);
void verb_crowd (const Request *request);
void verb_waiters (const Request *request);
void verb_line (const Request *request);
void verb_paths (const Request *request);
void verb_hold (const Request *request);
void verb_reentrant (const Request *request);
void verb_idle (const Request *request);
void verb_try (const Request *request);
void verb_fleet (const Request *request);
void verb_sessions (const Request *request);
