/* What the integration tests share: a server, a proxy in front of it, an observer, clients, and
 * contenders (threads that acquire and release on order).
 *
 * cmocka's assertions work on the test's own thread only. Contenders therefore record, and the test
 * asserts.
 */
#ifndef CURATOR_TEST_FIXTURE_H
#define CURATOR_TEST_FIXTURE_H

#include "support/expire.h"
#include "support/four_letter.h"
#include "support/proxy.h"
#include "support/raw_zk.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <curator/curator.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SESSION_MS 4000
#define LONG_MS    15000 /* for what must happen, but has no bound of its own to show */
/* So long that no watch is read again, and no session lost to a busy machine, while a test runs. */
#define LONG_SESSION_MS 40000

typedef struct
{
  ZkServer *server;
  Proxy *proxy;
  RawZk *raw;
} Fixture;

/* Group set-up and tear-down; *state becomes a Fixture. */
int fixture_start (void **state);
int fixture_start_with_reaper (void **state); /* empty containers vanish within a moment */
int fixture_start_slow (void **state); /* its sessions may last LONG_SESSION_MS */
int fixture_stop (void **state);
/* Before each test: what a failed one left behind (a frozen server, a hole) must not fail others. */
int fixture_heal (void **state);
#define heal_and_test(function) cmocka_unit_test_setup (function, fixture_heal)

const char *fixture_server (Fixture *fixture); /* addresses */
const char *fixture_proxy (Fixture *fixture);

/* Not started yet: session SESSION_MS, connection time-out as long, retries every 50 ms for ever. */
CuratorClient *client_new (const char *address);
void client_start (CuratorClient *client);
/* Made, started and connected. */
CuratorClient *client_connect (const char *address);
CuratorLock *mutex_new (CuratorClient *client, const char *path);

/* Ends the session that went through the proxy last, and returns its id. Its owner is cut off
 * meanwhile, so that it cannot come back to the dying session: it hears of the end when it
 * reconnects. */
gint64 fixture_expire (Fixture *fixture);

/* Asserts that the error is this one and clears it. */
#define assert_error(error, domain, code)                                                          \
  check_error ((error), (domain), (int) (code), #code, __FILE__, __LINE__)
#define assert_curator_error(error, code) assert_error (error, CURATOR_ERROR, code)
/* Asserts that a call succeeded, and prints its error if not. */
#define assert_ok(call, error) check_ok ((call), (error), #call, __FILE__, __LINE__)
void check_error (GError **error, GQuark domain, int code, const char *name, const char *file,
                  int line);
void check_ok (gboolean result, GError **error, const char *call, const char *file, int line);

/* A thread that acquires, holds until told, and releases. */
typedef struct
{
  CuratorLock *lock;
  gint64 timeout_ms;
  GCancellable *cancellable;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  gboolean returned; /* acquire has; guards the next block */
  gboolean told;     /* to release */

  gboolean acquired;
  GError *error;
  gint64 called_ms;
  gint64 returned_ms;
  char *node; /* full path */
  guint64 token;
  gint64 session;

  gboolean released; /* valid once joined */
  GError *release_error;
} Contender;

Contender *contender_start (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable);
/* Waits until acquire has returned, whatever it said. */
gboolean contender_wait (Contender *contender, int timeout_ms);
gboolean contender_has_returned (Contender *contender);
void contender_tell_release (Contender *contender);
/* Tells it to release and waits until it has ended; then all its fields may be read. */
void contender_join (Contender *contender);
void contender_free (Contender *contender); /* joins first; NULL is fine */
gint64 contender_took_ms (Contender *contender);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Contender, contender_free)

/* Connection states that a listener was told, in order. */
typedef struct
{
  pthread_mutex_t mutex;
  GArray *states;
  GThread *thread; /* on which the last one came */
} StateLog;

StateLog *state_log_new (CuratorClient *client);
void state_log_free (StateLog *log); /* after the client is closed */
int state_log_count (StateLog *log, CuratorConnectionState state);
gboolean state_log_wait (StateLog *log, CuratorConnectionState state, int times, int timeout_ms);
/* "CONNECTED SUSPENDED LOST", to be freed. */
char *state_log_to_string (StateLog *log);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (StateLog, state_log_free)

/* Waits until the path has n children. */
void assert_children (Fixture *fixture, const char *path, int n, int timeout_ms);
/* No node below the path and no watch on any, at the latest after timeout_ms. */
void assert_no_residue (Fixture *fixture, const char *path, int timeout_ms);

#endif
