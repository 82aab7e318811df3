# SPDX-License-Identifier: Apache-2.0
# Bugs planted in copies of the library's sources. Each is a test that the simulator finds it, linked with
# the changed file in front of the library, whose own object is then not taken.

# curator_plant (name RECIPE recipe FILE source EXPECT regex CHANGE old new [old new ...])
# Every old text has to be there: a plant must not wither when the source changes.
function(curator_plant name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RECIPE;FILE;EXPECT" "CHANGE")
  set(source "${PROJECT_SOURCE_DIR}/src/${arg_FILE}")
  set(planted "${CMAKE_CURRENT_BINARY_DIR}/plants/${name}.c")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" text)
  while(arg_CHANGE)
    list(POP_FRONT arg_CHANGE old new)
    string(REPLACE "@" ";" old "${old}")
    string(REPLACE "@" ";" new "${new}")
    string(FIND "${text}" "${old}" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "The plant ${name} finds no '${old}' in ${arg_FILE}")
    endif()
    string(REPLACE "${old}" "${new}" text "${text}")
  endwhile()
  file(CONFIGURE OUTPUT "${planted}" CONTENT "#line 1 \"${source}\"\n${text}" @ONLY)
  set(target "test_sim_planted_${name}")
  curator_add_test(${target} SOURCES test_sim_planted.c "${planted}" LIBS curator_sim LABELS sim TIMEOUT 120)
  target_compile_definitions(${target} PRIVATE SIM_RECIPE=sim_recipe_${arg_RECIPE} SIM_PROGRAM="${target}"
                                               SIM_EXPECTED="${arg_EXPECT}")
  # What is planted leaves variables and functions without a use.
  set_source_files_properties(
    "${planted}" PROPERTIES COMPILE_DEFINITIONS "CURATOR_COMPILATION;G_LOG_DOMAIN=\"curator\"" COMPILE_OPTIONS "-w")
endfunction()

set(two_holders "was granted while")

# --- the mutex ---
curator_plant(
  mutex_second_is_first RECIPE mutex FILE lock/driver.c EXPECT "${two_holders}"
  CHANGE "results->gets_the_lock = (gint64) i < max_leases" "results->gets_the_lock = (gint64) i <= max_leases")
curator_plant(
  mutex_reentry_without_look RECIPE mutex FILE mutex/mutex.c EXPECT "a lost hold was entered again"
  CHANGE "const gboolean lost = hold != NULL && is_lost (hold)" "const gboolean lost = FALSE")
curator_plant(
  mutex_unknown_node_not_sought RECIPE mutex FILE lock/attempt.c EXPECT "hang|residue"
  CHANGE "attempt->unknown = attempt->unknown || curator_zk_is_ambiguous (rc)" "attempt->unknown = FALSE")
curator_plant(
  mutex_unknown_node_stays RECIPE mutex FILE lock/attempt_end.c EXPECT "hang|residue"
  CHANGE "if (attempt->unknown)" "if (FALSE)")
curator_plant(
  mutex_no_deadline RECIPE mutex FILE client/lease_clock.c EXPECT "${two_holders}"
  CHANGE "MIN (by_proof, by_leader) - curator_client_boottime_us (session->client)"
         "session->state == CURATOR_SESSION_CONNECTED ? t : 0")
curator_plant(
  mutex_no_guard RECIPE mutex FILE client/lease_clock.c EXPECT "${two_holders}"
  CHANGE "MIN (by_proof, by_leader) - curator_client_boottime_us (session->client)"
         "session->proof_us + t - curator_client_boottime_us (session->client)")

# --- the fixed node ---
curator_plant(
  fixed_node_adopts_others RECIPE fixed_node FILE lock/attempt_find.c EXPECT "${two_holders}|token"
  CHANGE "attempt->unknown && curator_reply_has_payload (reply, attempt->payload)" "attempt->unknown"
         "? attempt->session->id : 0))" "? reply->stat->ephemeralOwner : 0))")
curator_plant(
  fixed_node_adopts_neighbours RECIPE fixed_node FILE lock/attempt_find.c EXPECT "${two_holders}|token"
  CHANGE "attempt->unknown && curator_reply_has_payload (reply, attempt->payload)" "TRUE"
         "&& !curator_session_has_stake (attempt->session, path)" "")
curator_plant(
  fixed_node_deletes_others RECIPE fixed_node FILE lock/lease.c EXPECT "deleted by another|${two_holders}"
  CHANGE "if (lease->name_is_ours)" "if (TRUE)")

# --- readers and writers ---
curator_plant(
  rwlock_readers_ignore_writers RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}"
  CHANGE "if (is_write_node (children[i]))" "if (FALSE)")
curator_plant(
  rwlock_readers_look_at_the_first RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}|token"
  CHANGE "if (is_write_node (children[i]))" "if (i == 0 && is_write_node (children[i]))")
curator_plant(
  rwlock_writers_ignore_readers RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}"
  CHANGE "return key != name ? key : curator_queue_standard_key (name, WRITE_NAME)"
         "return key == name || *lock_name == '_' && lock_name[2] == 'W' ? curator_queue_standard_key (name, WRITE_NAME) : key")
curator_plant(
  rwlock_downgrade_at_the_tail RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}"
  CHANGE "g_strconcat (READ_NAME, digits, NULL)"
         "g_strdup_printf (READ_NAME \"09%08u\", g_str_hash (digits) % 100000000)")
curator_plant(
  rwlock_upgrade_waits RECIPE rwlock FILE rwlock/rwlock.c EXPECT "hang|upgrade"
  CHANGE "if (read_hold != NULL)" "if (FALSE)")
curator_plant(
  rwlock_lost_writer_reads RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}"
  CHANGE "if (curator_lease_get_state (write_hold) == CURATOR_LEASE_LOST)" "if (FALSE)"
         "request->under = write_hold" "curator_lease_unref (write_hold)")

# --- the semaphore ---
curator_plant(
  semaphore_one_too_many RECIPE semaphore FILE semaphore/semaphore.c EXPECT "was granted permit"
  CHANGE "(gint64) n_children <= max_leases" "(gint64) n_children <= max_leases + 1")
curator_plant(
  semaphore_deaf_to_less RECIPE semaphore FILE semaphore/semaphore.c EXPECT "was granted permit"
  CHANGE "semaphore->leases->max_leases = value@\n  curator_lock"
         "semaphore->leases->max_leases = MAX (value, semaphore->leases->max_leases)@\n  curator_lock")
curator_plant(
  semaphore_deaf_to_more RECIPE semaphore FILE semaphore/semaphore.c EXPECT "hang"
  CHANGE "curator_lock_internals_recheck (semaphore->leases)" "")
curator_plant(
  semaphore_waits_without_turn RECIPE semaphore FILE semaphore/semaphore.c EXPECT "hang"
  CHANGE "state == CURATOR_LEASE_LOST && current != NULL" "FALSE")
curator_plant(
  semaphore_turn_for_each_permit RECIPE semaphore FILE semaphore/semaphore.c EXPECT "hang"
  CHANGE "      g_ptr_array_add (acquire->got, lease)@\n      take_lease (acquire)"
         "      g_ptr_array_add (acquire->got, lease)@\n      if ((int) acquire->got->len < acquire->n) { CuratorLease *turn = let_go_of_turn (acquire)@ curator_lease_end (turn, G_MAXINT64, NULL, NULL)@ curator_client_after_unlock (client, unref_lease, turn)@ take_turn (acquire)@ } else take_lease (acquire)")
curator_plant(
  shared_count_gives_up RECIPE semaphore FILE semaphore/shared_count.c EXPECT "hang"
  CHANGE "news == CURATOR_WATCH_FAILED && curator_zk_is_retryable (rc)" "FALSE")

# --- the semaphore mutex ---
curator_plant(
  semaphore_mutex_for_two RECIPE semaphore_mutex FILE semaphore/semaphore_mutex.c EXPECT "${two_holders}"
  CHANGE "curator_semaphore_new (client, path, 1, error)" "curator_semaphore_new (client, path, 2, error)")
curator_plant(
  semaphore_mutex_enters_again RECIPE semaphore_mutex FILE semaphore/semaphore_mutex.c EXPECT "entered twice"
  CHANGE "if (owner != 0 && lost)" "if (owner != 0 && mutex->lease != NULL && !lost)"
         "lost_error (), done" "NULL, done")

# --- the multi-lock ---
curator_plant(
  multilock_without_break RECIPE multilock FILE multilock/multilock.c EXPECT "${two_holders}|is not held|is not acquired"
  CHANGE "  if (error == NULL)\n    {\n      chain->n_held++@" "  if (error == NULL || chain->n_held > 0)\n    chain->n_held++@\n  if (error == NULL)\n    {"
         "if (error != NULL && chain->failure == NULL)" "if (error != NULL && chain->failure == NULL && chain->n_held == 0)")
curator_plant(
  multilock_keeps_the_first RECIPE multilock FILE multilock/multilock.c EXPECT "still held|residue|hang"
  CHANGE "while (chain->n_held > 0)" "while (chain->n_held > 1)")
curator_plant(
  multilock_unsorted RECIPE multilock FILE multilock/multilock.c EXPECT "hang"
  CHANGE "g_ptr_array_sort (sorted, compare_paths)" "")
