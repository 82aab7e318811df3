/* Shared by the integration tests: a server, a proxy in front of it, an observer, clients, and
 * contenders (threads that acquire and release on command).
 *
 * cmocka's assertions work on the test's own thread only. Contenders therefore record, and the test
 * asserts.
 */
#pragma once

#include "support/expire.h"
#include "support/four_letter.h"
#include "support/proxy.h"
#include "support/raw_zk.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <curator/curator.h>
#include <pthread.h>

#define SESSION_MS 4000
#define LONG_MS    120000 /* for events that must happen, without a promised bound */
/* So long that during a test no watch is read again and no session expires on a busy machine. */
#define LONG_SESSION_MS 40000

typedef struct
{
  ZkServer *server;
  Proxy *proxy;
  RawZk *raw;
} Fixture;

/* Group set-up and tear-down; *state becomes a Fixture. */
int fixture_start (void **state);
int fixture_start_with (void **state, const char *const *java_options);
/* Empty containers are deleted soon; client_new() has sessions of LONG_SESSION_MS. */
int fixture_start_with_reaper (void **state);
int fixture_start_slow (void **state); /* allows sessions of LONG_SESSION_MS */
int fixture_start_calm (void **state); /* and client_new() has them: expiry is not the subject */
int fixture_start_for_sessions (void **state, int longest_ms); /* the longest one */
int fixture_stop (void **state);
/* Before each test: undoes what a failed one left behind (a frozen server, a hole). */
int fixture_heal (void **state);
#define heal_and_test(function) cmocka_unit_test_setup (function, fixture_heal)

/* A suite with servers of its own defines both before. */
#ifndef SUITE_FIXTURE
#define SUITE_FIXTURE Fixture *fixture
#define SUITE_SETUP   fixture_heal
#endif
#include "support/suite.h"

/* Tests with a client, which is connected to the server or through the proxy. */
#define CLIENT_TEST(name) TEST_BY (name, fixture_server)
#define PROXY_TEST(name)  TEST_BY (name, fixture_proxy)
#define TEST_BY(name, address)                                                                     \
  static void name##_by (Fixture *fixture, CuratorClient *client);                                 \
  TEST (name)                                                                                      \
  {                                                                                                \
    g_autoptr (CuratorClient) client = client_connect (address (fixture));                         \
    name##_by (fixture, client);                                                                   \
  }                                                                                                \
  static void name##_by (Fixture *fixture, CuratorClient *client)
/* The client's connection goes through the proxy, the peer's does not. */
#define PAIR_TEST(name)                                                                            \
  static void name##_of (Fixture *fixture, CuratorClient *client, CuratorClient *peer);            \
  PROXY_TEST (name)                                                                                \
  {                                                                                                \
    g_autoptr (CuratorClient) peer = client_connect (fixture_server (fixture));                    \
    name##_of (fixture, client, peer);                                                             \
  }                                                                                                \
  static void name##_of (Fixture *fixture, CuratorClient *client, CuratorClient *peer)

const char *fixture_server (Fixture *fixture); /* addresses */
const char *fixture_proxy (Fixture *fixture);

/* Not started yet: session timeout SESSION_MS, retries every 50 ms forever; its calls wait for
 * LONG_MS. */
CuratorClient *client_new (const char *address);
void client_start (CuratorClient *client);
/* Created, started and connected. */
CuratorClient *client_connect (const char *address);
CuratorClient *client_connect_for (const char *address, gint64 session_ms);
CuratorLock *mutex_new (CuratorClient *client, const char *path);

/* A lock of each other kind. */
typedef CuratorLock *(*KindNew) (CuratorClient *client, const char *path);
CuratorLock *fixed_node_new (CuratorClient *client, const char *path);
CuratorLock *semaphore_mutex_new (CuratorClient *client, const char *path);
CuratorLock *reader_new (CuratorClient *client, const char *path);
CuratorLock *writer_new (CuratorClient *client, const char *path);
CuratorLock *multi_lock_new (CuratorClient *client, const char *path); /* and path "-b" */

/* Expires the session that last went through the proxy, and returns its id. Its owner is cut off
 * meanwhile, so that it cannot rejoin the session before it expires; it learns of the expiry when
 * it reconnects. */
gint64 fixture_expire (Fixture *fixture);

/* Asserts that the error is this one and clears it. */
#define assert_error(error, domain, code)                                                          \
  check_error ((error), (domain), (int) (code), #code, __FILE__, __LINE__)
#define assert_curator_error(error, code) assert_error (error, CURATOR_ERROR, code)
/* Asserts that a call succeeded, and prints its error if not. */
#define assert_ok(call, error) check_ok ((call), (error), #call, __FILE__, __LINE__)
#define assert_soon(condition)                                                                     \
  G_STMT_START                                                                                     \
  {                                                                                                \
    if (!holds_within (condition, LONG_MS))                                                        \
      fail_msg ("not in time: %s", #condition);                                                    \
  }                                                                                                \
  G_STMT_END
/* Acquires without haste, tries in vain, or releases, on the test's own thread. */
#define assert_acquired(lock) check_acquired ((lock), #lock, __FILE__, __LINE__)
#define assert_not_acquired(lock, timeout_ms, code)                                                \
  check_not_acquired ((lock), (timeout_ms), (code), #code, __FILE__, __LINE__)
#define assert_released(lock) check_released ((lock), #lock, __FILE__, __LINE__)
#define lease_of(lock)        check_lease_of ((lock), #lock, __FILE__, __LINE__)
void check_acquired (CuratorLock *lock, const char *name, const char *file, int line);
void check_not_acquired (CuratorLock *lock, gint64 timeout_ms, CuratorError code, const char *name,
                         const char *file, int line);
void check_released (CuratorLock *lock, const char *name, const char *file, int line);
/* What the server has of them: to be freed. */
char **participants_of (CuratorLock *lock);
GBytes *data_of (CuratorLease *lease);
CuratorLease *check_lease_of (CuratorLock *lock, const char *name, const char *file, int line);
void check_error (GError **error, GQuark domain, int code, const char *name, const char *file,
                  int line);
void check_ok (gboolean result, GError **error, const char *call, const char *file, int line);

/* A thread that acquires, holds until commanded, and releases. */
typedef struct
{
  CuratorLock *lock;
  gint64 timeout_ms;
  GCancellable *cancellable;
  pthread_t thread;
  gint returned; /* atomic: acquire has returned, and the next block is valid */
  gint told;     /* atomic: to release */

  gboolean acquired;
  GError *error;
  gint64 returned_ms;
  char *node; /* full path */
  guint64 token;
  gint64 session;

  gboolean released; /* valid once joined */
  GError *release_error;
} Contender;

Contender *contender_start (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable);
/* Waits until acquire has returned, with any result. */
gboolean contender_wait (Contender *contender, int timeout_ms);
/* Asserts that it is granted; the other starts it first. */
void contender_assert_granted (Contender *contender);
Contender *contender_of (CuratorLock *lock);
gboolean contender_has_returned (Contender *contender);
void contender_tell_release (Contender *contender);
/* Makes it release and joins its thread; then all its fields may be read. */
void contender_join (Contender *contender);
void contender_free (Contender *contender); /* joins first; NULL is allowed */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Contender, contender_free)

/* Connection states that a listener received, in order. */
typedef struct
{
  CuratorConnectionState states[1000];
  gint n;          /* atomic */
  GThread *thread; /* thread of the last call */
} StateLog;

StateLog *state_log_new (CuratorClient *client);
void state_log_free (StateLog *log); /* after the client is closed */
int state_log_count (StateLog *log, CuratorConnectionState state);
gboolean state_log_wait (StateLog *log, CuratorConnectionState state, int times, int timeout_ms);
/* "CONNECTED SUSPENDED LOST", to be freed. */
char *state_log_to_string (StateLog *log);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (StateLog, state_log_free)

/* From now on warnings that contain the text are counted and not written. Once in a program. */
void warnings_count (const char *text);
int warnings_taken (void); /* since the last time */

/* Waits until the path has n children. */
void assert_children (Fixture *fixture, const char *path, int n, int timeout_ms);
/* Waits until there is no node below the path and no watch on one, at most timeout_ms. */
void assert_no_residue (Fixture *fixture, const char *path, int timeout_ms);
