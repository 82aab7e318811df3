/* The table of errors in docs/errors.md: every call in every state.
 *
 * Each state is made with a server and a proxy, and lasts while the calls are made, one after the
 * other, on a thread of its own. Nothing is judged by a clock: where servers answer, a call may
 * take all the time that it needs, and where they do not, its time only passes.
 */
/* Before a macro of cmocka that they clash with. */
#include <fstream>
#include <iostream>
#include <sstream>

#include "cpp/fixture.hpp"

#include "cpp/error_table.hpp"

#include <map>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace
{
/* The time of a call that no server answers, and of one that asks once. */
constexpr gint64 SHORT_MS = 100;
constexpr gint64 CONNECTION_MS = 1000;

enum state
{
  NOT_STARTED,
  REFUSED,
  MUTE,
  NO_ADDRESS,
  CONNECTED,
  CONTENDED,
  SILENT,
  SUSPENDED,
  LOST,
  LOGIN_REFUSED,
  CLOSED,
  CHILD,
  N_STATES
};

enum
{
  CONNECTS = 1, /* first, and then there are holds */
  ANSWERS = 2,  /* servers still do */
  WAITS = 4     /* what waits without a limit does */
};

/* In the order of the states. */
const struct
{
  const char *title;
  int flags;
  int cause = -1; /* of #CURATOR_CONNECT_ERROR; -1: none that is waited for */
  ProxyMode cut = PROXY_PASS;
} columns[N_STATES] = {
  { "not started", 0 },
  { "refused", WAITS, CURATOR_CONNECT_ERROR_CONNECT },
  { "no answer yet", WAITS, CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT },
  { "no address", WAITS, CURATOR_CONNECT_ERROR_RESOLVE },
  { "connected", CONNECTS | ANSWERS },
  { "another ahead", CONNECTS | ANSWERS | WAITS },
  { "silent", CONNECTS | WAITS, -1, PROXY_HOLE },
  { "`SUSPENDED`", CONNECTS | WAITS, CURATOR_CONNECT_ERROR_CONNECT, PROXY_REFUSE },
  { "`LOST`", CONNECTS | WAITS, CURATOR_CONNECT_ERROR_CONNECT, PROXY_REFUSE },
  { "login refused", 0 },
  { "closed", CONNECTS },
  { "child of `fork ()`", CONNECTS },
};

/* Another client, which is ahead in every queue. */
struct rival
{
  curator::client client;
  curator::leader_latch latch;
  curator::leader_selector selector;
  curator::lease locked, acquired;
};

/* The objects of a state. */
struct scene
{
  std::unique_ptr<Proxy, void (*) (Proxy *)> proxy{ nullptr, proxy_free };
  stage on{};
  rival ahead{};
};

/* A state, and its column of the table. */
struct act
{
  state now;
  const char *server;
  std::vector<std::string> cells{};
  std::string failure{}; /* the state could not be made */

  bool is (int flag) const { return (columns[now].flags & flag) != 0; }
};

/* --- the states --- */

void
lead (const curator::lease &, GCancellable *cancellable)
{
  while (!g_cancellable_is_cancelled (cancellable))
    wait_ms (2);
}

void
require (bool is_so, const char *what)
{
  if (!is_so)
    throw std::runtime_error (std::string (what) + " not in time");
}

curator::client
make_client (const act &act, const char *address)
{
  CuratorClient *client = client_new (address);
  /* Only one session is to end. */
  curator_client_set_session_timeout (client, act.now == LOST ? SESSION_MS : LONG_SESSION_MS);
  curator_client_set_connection_timeout (client, act.is (ANSWERS) ? LONG_MS : CONNECTION_MS);
  if (act.now == LOGIN_REFUSED)
    curator_client_add_auth (client, "nosuchscheme", "x", 1);
  return curator::client (client);
}

void
make_objects (stage &on)
{
  on.lock = curator::mutex (on.client, on.path);
  on.held = curator::mutex (on.client, on.path + "-held");
  on.semaphore = curator::semaphore (on.client, on.path + "-semaphore", 1);
  on.count = curator::shared_count (on.client, on.path + "-count", 0);
  on.new_count = curator::shared_count (on.client, on.path + "-count", 0);
  on.latch = curator::leader_latch (on.client, on.path + "-latch");
  on.selector = curator::leader_selector (on.client, on.path + "-selector", lead);
}

void
hold (stage &on)
{
  require (on.client.block_until_connected (LONG), "its connection");
  on.lease = curator::mutex (on.client, on.path + "-lease").acquire_lease (LONG);
  require (on.held.try_lock_for (LONG), "its lock");
  on.count.start (LONG);
}

void
contend (const act &act, const stage &on, rival &rival)
{
  rival.client = make_client (act, act.server);
  rival.client.start ();
  rival.latch = curator::leader_latch (rival.client, on.path + "-latch");
  rival.latch.start ();
  require (rival.latch.try_await_for (LONG), "its rival's latch");
  rival.selector = curator::leader_selector (rival.client, on.path + "-selector", lead);
  rival.selector.start ();
  require (rival.selector.try_await_for (LONG), "its rival's leadership");
  rival.locked = curator::mutex (rival.client, on.path).acquire_lease (LONG);
  rival.acquired = curator::semaphore (rival.client, on.path + "-semaphore", 1).acquire (LONG);
}

bool
is_reached (state now, const stage &on)
{
  const auto error = on.client.connection_error ();
  const int cause = columns[now].cause;

  if (cause >= 0
      && !(error && error->domain () == CURATOR_CONNECT_ERROR && error->code () == cause))
    return false;
  if (now == LOGIN_REFUSED)
    return error && error->is (CURATOR_ERROR_AUTH_FAILED);
  if (now == LOST)
    return on.client.state () == curator::connection_state::lost
           && on.lease.state () == curator::lease_state::lost;
  return now != SUSPENDED || on.client.state () == curator::connection_state::suspended;
}

std::string
address_of (const act &act, scene &scene)
{
  if (act.now == REFUSED)
    return "127.0.0.1:1";
  if (act.now == NO_ADDRESS)
    return "no-such-host.invalid:2181";
  scene.proxy.reset (proxy_new (act.server));
  if (act.now == MUTE)
    proxy_set_mode (scene.proxy.get (), PROXY_HOLE);
  return proxy_address (scene.proxy.get ());
}

void
make_state (const act &act, scene &scene)
{
  stage &on = scene.on;

  on.is_waiting = act.is (WAITS);
  on.is_answered = act.is (ANSWERS);
  on.time_ms = on.is_answered && !on.is_waiting ? LONG_MS : SHORT_MS;
  on.path = "/error-table/" + std::to_string (act.now);
  on.servers = address_of (act, scene);
  on.client = make_client (act, on.servers.c_str ());
  make_objects (on);
  if (act.now == NOT_STARTED)
    return;
  on.client.start ();
  if (act.is (CONNECTS))
    hold (on);
  if (act.now == CONTENDED)
    contend (act, on, scene.ahead);
  if (columns[act.now].cut != PROXY_PASS)
    proxy_set_mode (scene.proxy.get (), columns[act.now].cut);
  if (act.now == CLOSED)
    on.client.close ();
  require (holds_within (is_reached (act.now, on), LONG_MS), "the state");
}

/* --- the cells --- */

#define NAMED(prefix, name)                                                                        \
  {                                                                                                \
    prefix##name, #name                                                                            \
  }
#define CODE(name)  NAMED (CURATOR_ERROR_, name)
#define CAUSE(name) NAMED (CURATOR_CONNECT_ERROR_, name)
const std::map<int, std::string> codes = {
  CODE (INVALID_ARGUMENT), CODE (NOT_STARTED),        CODE (CLOSED),
  CODE (TIMED_OUT),        CODE (NOT_OWNER),          CODE (LOCK_LOST),
  CODE (RELEASE_PENDING),  CODE (CONNECTION_LOST),    CODE (SESSION_EXPIRED),
  CODE (AUTH_FAILED),      CODE (SEQUENCE_EXHAUSTED), CODE (UNSUPPORTED),
  CODE (FORKED),           CODE (LIMIT_EXCEEDED),     CODE (NO_ANSWER),
  CODE (RESOURCES),        CODE (ALREADY_STARTED)
};
const std::map<int, std::string> causes = { CAUSE (RESOLVE), CAUSE (CONNECT),
                                            CAUSE (HANDSHAKE_TIMED_OUT) };

std::string
cell_of (gboolean succeeded, const GError *error)
{
  if (error == nullptr)
    return succeeded ? "yes" : "false";
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return "`CANCELLED`";
  if (error->domain == CURATOR_ERROR)
    return "`" + codes.at (error->code) + "`";
  if (error->domain == CURATOR_CONNECT_ERROR)
    return "`" + causes.at (error->code) + "`";
  return g_quark_to_string (error->domain) + (" " + std::to_string (error->code));
}

/* Where servers answer they are given the time for it. */
std::string
call_row (stage &on, const table_row &row)
{
  if (row.needs_hold && !on.lease)
    return "";
  for (;;) {
    g_autoptr (GError) error = nullptr;
    const gboolean succeeded = row.call (on, &error);
    if (!on.is_answered || on.time_ms >= LONG_MS
        || !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER))
      return cell_of (succeeded, error);
    on.time_ms *= 4;
  }
}

std::vector<std::string>
call_rows (stage &on)
{
  std::vector<std::string> cells;
  for (const table_row &row : table_rows)
    cells.push_back (call_row (on, row));
  return cells;
}

/* In a child, which writes a line for each cell. */
std::vector<std::string>
call_rows_in_child (stage &on)
{
  std::vector<std::string> cells;
  int ends[2];
  assert_int_equal (pipe (ends), 0);
  const pid_t child = fork ();
  assert_true (child >= 0);
  if (child == 0) {
    for (const std::string &cell : call_rows (on))
      dprintf (ends[1], "%s\n", cell.c_str ());
    _exit (0);
  }
  close (ends[1]);
  FILE *in = fdopen (ends[0], "r");
  char line[64];
  while (fgets (line, sizeof line, in) != nullptr)
    cells.emplace_back (g_strchomp (line));
  fclose (in);
  assert_int_equal (waitpid (child, nullptr, 0), child);
  require (cells.size () == table_rows.size (), "the answers of the child");
  return cells;
}

void
play (act &act)
{
  scene scene;
  try {
    make_state (act, scene);
    act.cells = act.now == CHILD ? call_rows_in_child (scene.on) : call_rows (scene.on);
  } catch (const std::exception &thrown) {
    act.failure = std::string (columns[act.now].title) + ": " + thrown.what ();
  }
  if (scene.proxy != nullptr)
    proxy_set_mode (scene.proxy.get (), PROXY_PASS);
}

/* --- the table --- */

std::string
table_of (const std::vector<act> &acts)
{
  std::ostringstream table;

  table << "| |";
  for (const auto &column : columns)
    table << " " << column.title << " |";
  table << "\n|---|";
  for (int i = 0; i < N_STATES; i++)
    table << "---|";
  for (std::size_t row = 0; row < table_rows.size (); row++) {
    table << "\n| " << table_rows[row].name << " |";
    for (const act &act : acts)
      table << " " << act.cells.at (row) << " |";
  }
  table << "\n";
  return table.str ();
}
}

TEST (test_table)
{
  std::vector<act> acts;
  std::vector<std::thread> threads;

  for (int now = 0; now < N_STATES; now++)
    acts.push_back ({ state (now), fixture_server (fixture) });
  /* A fork waits for look-ups, so it is first. */
  play (acts[CHILD]);
  for (int now = 0; now < CHILD; now++)
    threads.emplace_back (play, std::ref (acts[now]));
  for (std::thread &thread : threads)
    thread.join ();
  for (const act &act : acts)
    if (!act.failure.empty ())
      fail_msg ("%s", act.failure.c_str ());
  std::stringstream page;
  page << std::ifstream (CURATOR_SOURCE_DIR "/docs/errors.md").rdbuf ();
  const std::string table = table_of (acts);
  if (page.str ().find (table) == std::string::npos) {
    std::cout << table << std::flush; /* longer than the messages of cmocka */
    fail_msg ("docs/errors.md has another table");
  }
}

SUITE ("error table", fixture_start_slow, fixture_stop)
