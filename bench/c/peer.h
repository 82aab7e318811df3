/* What the benchmark asks of this library, one verb a file. The programs in ../java, ../kazoo and
 * ../go understand the same lines, so that the rig can treat all four alike:
 *
 *   request    VERB key=value ...        on stdin
 *   reply      ok key=value ...          on stdout
 *
 * A verb that has something to prepare answers "ready ..." first and waits for the line "go".
 * Anything that fails ends the process with a message on stderr: a figure is never made up.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <curator/curator.h>

typedef struct
{
  char *verb;
  GHashTable *values;
} Request;

/* Both end the process when there is no such key. */
const char *request_text (const Request *request, const char *key);
gint64 request_number (const Request *request, const char *key);
/* 0 when there is no such key. */
gboolean request_flag (const Request *request, const char *key);

/* Around all the others. */
void peer_init (void);
void peer_clear (void);
G_NORETURN void peer_die (const char *what, const GError *error);
/* One line, flushed. */
void peer_reply (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Tells that all is prepared, and returns at "go". */
void peer_ready_steady (const char *format, ...) G_GNUC_PRINTF (1, 2);

gint64 peer_now_ns (void);

/* The i-th session to the server that the key names, connected; kept until the process ends. With
 * "session_ms" in the request its time-out is that one. */
CuratorClient *peer_session (const Request *request, const char *server_key, int i);
/* Returns when n nodes of that recipe queue at the request's path. Asks the server at the request's
 * "observe", so that a proxy in between does not count the questions. */
void peer_await_queue (const Request *request, const char *recipe, int n);

/* Durations, from which the shape of their distribution is told: the 101 quantiles from 0 to 100 in
 * microseconds, as "12.3,12.9,...". */
typedef struct
{
  GArray *ns;
} Samples;

void samples_init (Samples *samples);
void samples_add (Samples *samples, gint64 ns);
void samples_take (Samples *samples, Samples *from); /* empties from */
void samples_clear (Samples *samples);
char *samples_quantiles (Samples *samples);

/* No lock of this library's: the requests of one, sent by libzookeeper alone, in a session of its own.
 * The parent is there. */
typedef struct _Bare Bare;

Bare *bare_new (const char *server, const char *path, gboolean is_semaphore, gboolean async);
void bare_acquire (Bare *bare);
void bare_release (Bare *bare);
/* As many nodes as n waiters have; and the end of them all. */
void bare_queue (Bare *bare, guint n);
void bare_drain (Bare *bare);
void bare_free (Bare *bare);

/* A lock of any recipe, held and given back by one thread. */
typedef struct
{
  CuratorLock *lock;
  CuratorRwLock *pair;
  CuratorSemaphore *semaphore;
  CuratorLease *lease;
  Bare *bare;
  gboolean async; /* does not wait until a release is confirmed */
} Recipe;

/* name: mutex, read, write, semaphore, semmutex */
void recipe_init (Recipe *recipe, const char *name, CuratorClient *client, const char *path,
                  gboolean async);
/* The request's recipe, or a mutex if it names none, in the i-th session to its server. The recipe
 * "bare" is none of this library's, nor is "bare-semaphore". */
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

#endif
