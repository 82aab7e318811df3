/* The calls of the table in docs/errors.md, and the objects that they are called with. */
#pragma once

#include <curator/curator.hpp>

/* One client in one state, used by one thread. */
struct stage
{
  std::string path;
  std::string servers;
  gint64 time_ms;   /* of the calls that have some time */
  bool is_waiting;  /* FOREVER does not end by itself */
  bool is_answered; /* by servers */
  curator::client client;
  curator::mutex lock;
  curator::mutex held;  /* by this thread, since before the state began */
  curator::lease lease; /* of no thread; empty: there was never a connection */
  curator::semaphore semaphore;
  curator::shared_count count; /* started, if there was ever a connection */
  curator::shared_count new_count;
  curator::leader_latch latch;
  curator::leader_selector selector;
};

/* The call returns whether it succeeded; FALSE without an error is a false of C++. */
struct table_row
{
  const char *name;
  gboolean (*call) (stage &it, GError **error);
  bool needs_hold = false; /* from before the state began */
};

extern const std::vector<table_row> table_rows;
