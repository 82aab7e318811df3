/* The assertion of the tests with a contest. */
#ifndef CURATOR_TEST_CONTEST_TEST_H
#define CURATOR_TEST_CONTEST_TEST_H

#include "contest.h"
#include "integration/fixture.h"

/* A contest in which nothing is wrong, and of which no node is left on the server. */
GArray *assert_contest (RawZk *raw, const ContestPlan *plan);

#endif
