/* What the tests that hold a contest share: their server, and what has to be so afterwards. */
#ifndef CURATOR_TEST_CONTEST_TEST_H
#define CURATOR_TEST_CONTEST_TEST_H

#include "contest.h"
#include "support/zk_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A group's set-up and tear-down; the state is the ZkServer. */
int contest_server_start (void **state);
int contest_server_stop (void **state);

/* Nobody broke a rule, and what was over was gone within a second. */
void assert_good_history (const GArray *events);
/* No node below path, as an observer sees it. */
void assert_none_below (ZkServer *server, const char *path);
/* The same for a semaphore's leases and turns. */
void assert_semaphore_is_free (ZkServer *server, const char *path);

#endif
