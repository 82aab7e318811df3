/* doctor: finds present and coming problems of the locks below a path.
 *
 * Most checks need only what any client can read. The tick length and the connected sessions are
 * asked of the servers by four-letter words, where those are allowed.
 */
#include "views/views.h"

#include "base/kind.h"
#include "base/outcome.h"
#include "output/text.h"
#include "views/doctor_ensemble.h"
#include "views/doctor_security.h"
#include "views/findings.h"
#include "views/who.h"

#include <stdio.h>
#include <string.h>

#define COUNTER_WARNING 0.5
#define COUNTER_ALARM   0.9
#define FAIR_TICKS      5 /* a shorter session may not survive one lost heartbeat */
#define MAX_NAMES       3
#define MAX_CHILDREN    100 /* looked at below a free path */
#define FOUND_CODE      1

static void
check_counter (Doctor *doctor, const CuratorInspection *lock)
{
  const double used = curator_inspection_get_counter_used (lock);
  const char *path = curator_inspection_get_path (lock);

  if (used >= 1)
    doctor_report (
        doctor, LEVEL_PROBLEM, "counter", path,
        "its sequence counter is exhausted: nothing can be acquired until the path is deleted "
        "and recreated");
  else if (used >= COUNTER_WARNING)
    doctor_report (doctor, used >= COUNTER_ALARM ? LEVEL_PROBLEM : LEVEL_WARNING, "counter", path,
                   "%d %% of its sequence counter is used up; delete the path while nobody uses it",
                   (int) (used * 100));
}

/* The counter has not given it: made by hand, brought by a copy of the data, or left from before
 * the counter broke. */
static void
check_numbers (Doctor *doctor, const CuratorInspection *lock)
{
  for (guint i = 0; i < curator_inspection_get_n_participants (lock); i++) {
    const CuratorParticipant *one = curator_inspection_get_participant (lock, i);
    const gint64 number = curator_participant_get_number (one);
    const gint64 next = curator_inspection_get_next_number (lock);
    g_autofree char *node = who_node_path (one);

    if (curator_participant_get_kind (one) != CURATOR_PARTICIPANT_KIND_OTHER
        && (number < 0 || number >= next))
      doctor_report (doctor, LEVEL_PROBLEM, "number", node,
                     "its path has not numbered it: the next number is %" G_GINT64_FORMAT
                     "; others may wait for it, or fail when they get the same number: delete "
                     "this node unless it is at work",
                     next);
  }
}

static void
report_foreign (Doctor *doctor, const CuratorInspection *lock, const char *const *names)
{
  const guint n = g_strv_length ((char **) names);
  g_autoptr (GString) list = g_string_new (NULL);

  for (guint i = 0; i < MIN (n, MAX_NAMES); i++) {
    g_autofree char *name = curator_escape_name (names[i], -1);
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", name);
  }
  doctor_report (doctor, LEVEL_PROBLEM, "foreign", curator_inspection_get_path (lock),
                 "%u %s no lock %s (%s%s): Java programs may wait for it without end", n,
                 n == 1 ? "child is" : "children are", n == 1 ? "node" : "nodes", list->str,
                 n > MAX_NAMES ? ", ..." : "");
}

static void
check_foreign (Doctor *doctor, const CuratorInspection *lock)
{
  const char *const *names = curator_inspection_get_foreign_children (lock);

  g_autofree char *others = who_other_kinds (doctor->client, lock);

  if (curator_inspection_get_kind (lock) == CURATOR_LOCK_KIND_OTHER) {
    g_autofree char *summary = who_summary (lock);
    doctor_report (doctor, LEVEL_NOTE, "kinds", curator_inspection_get_path (lock), "%s", summary);
  } else if (others != NULL) {
    doctor_report (doctor, LEVEL_PROBLEM, "kinds", curator_inspection_get_path (lock), "%s: %s",
                   curator_lock_kind_to_string (curator_inspection_get_kind (lock)), others);
  } else if (*names != NULL && curator_inspection_get_kind (lock) != CURATOR_LOCK_KIND_NONE) {
    report_foreign (doctor, lock, names);
  }
}

/* No lock node is there, so a child may be the path of an idle lock. That has had children. */
static gboolean
check_foreign_of_free (Doctor *doctor, const CuratorInspection *lock, GError **error)
{
  const char *const *names = curator_inspection_get_foreign_children (lock);
  g_autoptr (GPtrArray) leaves = g_ptr_array_new ();

  for (guint i = 0; names[i] != NULL && i < MAX_CHILDREN; i++) {
    g_autofree char *path = g_strdup_printf ("%s/%s", curator_inspection_get_path (lock), names[i]);
    g_autoptr (CuratorInspection) child =
        curator_client_inspect (doctor->client, path, CURATOR_WAIT_DEFAULT, NULL, error);
    if (child == NULL)
      return FALSE;
    if (curator_inspection_get_next_number (child) == 0)
      g_ptr_array_add (leaves, (gpointer) names[i]);
  }
  g_ptr_array_add (leaves, NULL);
  if (leaves->len > 1)
    report_foreign (doctor, lock, (const char *const *) leaves->pdata);
  return TRUE;
}

static void
check_owners (Doctor *doctor, const CuratorInspection *lock)
{
  for (guint i = 0; i < curator_inspection_get_n_participants (lock); i++) {
    const CuratorParticipant *one = curator_inspection_get_participant (lock, i);
    const gint64 session = curator_participant_get_session_id (one);
    g_autofree char *node = who_node_path (one);
    g_autofree char *label = text_label (curator_participant_get_data (one));

    if (!curator_participant_is_readable (one))
      doctor_report (doctor, LEVEL_NOTE, "owner", node, "it cannot be read with these credentials");
    else if (session == 0 && !who_is_by_recipe (one))
      doctor_report (doctor, LEVEL_PROBLEM, "owner", node,
                     "no session owns this lock node, and its name is none that Curator's recipes "
                     "give: if it is an application's, keep locks and data apart");
    else if (session == 0)
      doctor_report (doctor, LEVEL_PROBLEM, "owner", node,
                     "no session owns this lock node: it stays until it is deleted by hand");
    else if (servers_know_sessions (doctor->servers)
             && !servers_have_session (doctor->servers, session))
      doctor_report (
          doctor, LEVEL_WARNING, "owner", node,
          "its owner %s, session 0x%" G_GINT64_MODIFIER
          "x, is connected to none of the servers: if it does not reconnect, the node stays "
          "until its session expires",
          label, session);
  }
}

static void
check_ticks (Doctor *doctor, const Server *server, gint64 granted)
{
  if (!server->allows_conf)
    doctor_report (doctor, LEVEL_NOTE, "ticks", server->address,
                   "the server does not answer \"conf\": add conf and cons to its "
                   "4lw.commands.whitelist");
  else if (server->tick_ms > 0 && granted < FAIR_TICKS * server->tick_ms)
    doctor_report (
        doctor, LEVEL_WARNING, "ticks", server->address,
        "a session timeout of %d ms is short for ticks of %d ms: a pause of little more than "
        "one tick may end the session; use at least %d ms",
        (int) granted, (int) server->tick_ms, (int) (FAIR_TICKS * server->tick_ms));
}

static void
check_servers (Doctor *doctor)
{
  const gint64 asked = doctor->options->session_timeout_ms;
  const gint64 granted = curator_client_get_session_timeout_ms (doctor->client);
  gint64 tick = 0;

  if (granted != asked)
    doctor_report (doctor, LEVEL_WARNING, "timeout", doctor->options->hosts,
                   "a session timeout of %d ms was requested and %d ms granted: %s", (int) asked,
                   (int) granted,
                   granted > asked
                       ? "the servers' minimum is two ticks unless configured otherwise"
                       : "the servers' maximum is twenty ticks unless configured otherwise");
  for (guint i = 0; i < doctor->servers->len; i++) {
    const Server *server = g_ptr_array_index (doctor->servers, i);
    if (server->trouble != NULL) {
      doctor_report (doctor, LEVEL_PROBLEM, "server", server->address, "it does not answer: %s",
                     server->trouble);
      continue;
    }
    if (server->certificate.refusal != NULL)
      continue; /* it was not asked */
    check_ticks (doctor, server, granted);
    if (tick > 0 && server->tick_ms > 0 && server->tick_ms != tick)
      doctor_report (doctor, LEVEL_PROBLEM, "ticks", server->address,
                     "its tick is %d ms long, that of another server %d ms", (int) server->tick_ms,
                     (int) tick);
    tick = server->tick_ms > 0 ? server->tick_ms : tick;
  }
  if (!servers_know_sessions (doctor->servers))
    doctor_report (doctor, LEVEL_NOTE, "owner", doctor->options->hosts,
                   "not every server answers \"cons\": whether owners are still connected was not "
                   "checked");
}

static gboolean
check_locks (Doctor *doctor, GError **error)
{
  const char *path = doctor->options->paths[0];
  gboolean complete = TRUE;
  g_autoptr (GPtrArray) locks =
      curator_client_inspect_all (doctor->client, path, NULL, &complete, WALK_MS, NULL, error);

  if (locks == NULL)
    return FALSE;
  for (guint i = 0; i < locks->len; i++) {
    const CuratorInspection *lock = g_ptr_array_index (locks, i);
    check_counter (doctor, lock);
    check_numbers (doctor, lock);
    check_foreign (doctor, lock);
    guint least, greatest;
    if (kind_find_counts (lock, &least, &greatest) && least != greatest)
      doctor_report (doctor, LEVEL_PROBLEM, "counts", curator_inspection_get_path (lock),
                     "its contenders came with counts from %u to %u: as many hold it as the "
                     "greatest allows; give all the same -N",
                     least, greatest);
    check_owners (doctor, lock);
  }
  if (!complete)
    doctor_report (doctor, LEVEL_NOTE, "access", path, "not everything below it could be read");
  if (strcmp (path, "/") == 0 || locks->len > 0)
    return TRUE;
  /* A free lock has a sequence counter too. */
  g_autoptr (CuratorInspection) lock =
      curator_client_inspect (doctor->client, path, CURATOR_WAIT_DEFAULT, NULL, error);
  if (lock == NULL)
    return FALSE;
  check_counter (doctor, lock);
  return check_foreign_of_free (doctor, lock, error);
}

int
doctor_run (const Options *options, CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Dial) dial = dial_new (&options->secure, &error);
  g_autoptr (GString) findings = g_string_new (options->json ? "[" : NULL);
  Doctor doctor = { .options = options,
                    .client = client,
                    .dial = dial,
                    .findings = findings,
                    .began_ms = g_get_real_time () / 1000 - outcome_elapsed_ms () };

  if (dial == NULL)
    return fail_with (options, error);
  g_autoptr (GPtrArray) servers = servers_ask (options, dial);
  doctor.servers = servers;
  check_servers (&doctor);
  doctor_check_ensemble (&doctor);
  doctor_check_security (&doctor);
  if (!check_locks (&doctor, &error))
    return fail_with (options, error);
  printf ("%s%s", findings->str, options->json ? "]\n" : "");
  return doctor.has_problem ? FOUND_CODE : 0;
}
