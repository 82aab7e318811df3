/* The assertion of the tests with a contest. */
#pragma once

#include "contest.h"
#include "integration/fixture.h"

/* A contest in which nothing is wrong, and of which no node is left on the server. */
GArray *assert_contest (RawZk *raw, const ContestPlan *plan);
