/* Shared by the tests with a contest: their server, and the assertions afterwards. */
#ifndef CURATOR_TEST_CONTEST_TEST_H
#define CURATOR_TEST_CONTEST_TEST_H

#include "contest.h"
#include "support/zk_server.h"

#ifndef SUITE_FIXTURE
#define SUITE_FIXTURE ZkServer *server
#endif
#include "support/suite.h"

/* A group's set-up and tear-down; the state is the ZkServer. */
int contest_server_start (void **state);
int contest_server_stop (void **state);

/* Two processes in C, one in Java; each of their threads got so many, in a good history. */
GArray *contest_three (ZkServer *server, const char *path, const char *c_recipe,
                       const char *java_recipe, int threads, int acquisitions, int hold_ms,
                       int limit);
/* No violation, and every node was deleted within a second of its release. */
void assert_good_history (const GArray *events);
/* No node below path, seen by an observer. */
void assert_none_below (ZkServer *server, const char *path);
/* The same for a semaphore's leases and turns. */
void assert_semaphore_is_free (ZkServer *server, const char *path);

#endif
