# SPDX-License-Identifier: Apache-2.0
# Bugs planted in copies of the library's sources. Each test is linked with the changed file in front of the library,
# which replaces the library's object. judge.cmake requires the test to fail for the expected reason.
# They test the tests, not the library: sanitizer and coverage builds skip them.

# curator_plant (name FILE source EXPECT regex CHANGE old new [old new ...]
#                [AND_FILE source AND_CHANGE old new [old new ...]]
#                RECIPE recipe | SCENE test | TEST source [SCENE test] [PUBLISHED])
# Every old text must exist, so that a plant fails the configuration when the source changes. The judge is the schedules
# of a recipe, one scene of test_sim_promises.c, or another test (with SCENE, one scene of it).
# PUBLISHED: one of the sixteen that tests/README.md names.
set(planted_results "${CMAKE_CURRENT_BINARY_DIR}/plants/results")
file(MAKE_DIRECTORY "${planted_results}")

# The judges of most plants are the same: each is compiled once.
function(curator_planted_judge source recipe variable)
  get_filename_component(stem "${source}" NAME_WE)
  string(MAKE_C_IDENTIFIER "planted_judge_${stem}_${recipe}" objects)
  if(NOT TARGET ${objects})
    add_library(${objects} OBJECT "${source}")
    curator_test_target(${objects})
    target_link_libraries(${objects} PRIVATE curator_sim)
    target_compile_definitions(${objects} PRIVATE SIM_RECIPE=sim_recipe_${recipe})
  endif()
  set(${variable}
      ${objects}
      PARENT_SCOPE)
endfunction()

function(curator_plant name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PUBLISHED" "RECIPE;SCENE;TEST;FILE;AND_FILE;EXPECT" "CHANGE;AND_CHANGE")
  curator_plant_source(${name} "${arg_FILE}" arg_CHANGE planted)
  set(also)
  if(arg_AND_FILE)
    curator_plant_source(${name}_too "${arg_AND_FILE}" arg_AND_CHANGE also)
  endif()
  set(target "planted_${name}")
  if(arg_TEST)
    set(judge "${arg_TEST}")
  elseif(arg_SCENE)
    set(judge test_sim_promises.c)
  else()
    set(judge test_sim_planted.c)
  endif()
  curator_planted_judge("${judge}" "${arg_RECIPE}" objects)
  add_executable(${target} $<TARGET_OBJECTS:${objects}> "${planted}" ${also})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
  curator_test_target(${target})
  target_link_libraries(${target} PRIVATE curator_sim)
  target_link_options(${target} PRIVATE LINKER:--strip-debug) # half of the time of many links
  add_test(NAME ${target}
           COMMAND "${CMAKE_COMMAND}" "-DNAME=${name}" "-DPROGRAM=$<TARGET_FILE:${target}>" "-DEXPECTED=${arg_EXPECT}"
                   "-DRESULT=${planted_results}/${name}.txt" -P "${CMAKE_CURRENT_SOURCE_DIR}/judge.cmake")
  set_tests_properties(${target} PROPERTIES LABELS planted TIMEOUT 600 ENVIRONMENT
                                            "G_SLICE=always-malloc;G_DEBUG=fatal-criticals;SIM_TEST=${arg_SCENE}")
  curator_computing_tests(${target})
  if(arg_PUBLISHED)
    set_property(GLOBAL APPEND PROPERTY CURATOR_PLANTED_PUBLISHED ${name})
  else()
    set_property(GLOBAL APPEND PROPERTY CURATOR_PLANTED_OTHERS ${name})
  endif()
endfunction()

set(two_holders "was granted while")

# --- the published list ---
curator_plant(
  no_guid_search PUBLISHED RECIPE mutex FILE lock/own_node.c EXPECT "hang|residue"
  CHANGE "node->may_exist = node->may_exist || curator_zk_is_ambiguous (rc)" "node->may_exist = FALSE")
curator_plant(
  delete_before_wait PUBLISHED SCENE test_waiters_keep_their_place FILE lock/attempt_decide.c EXPECT "expectation failed"
  CHANGE "attempt->counted_as_waiter = TRUE@"
         "attempt->counted_as_waiter = TRUE@ curator_deletion_start (curator_deletion_new (attempt->op.client, attempt->own.path, 0, 0), NULL)@")
curator_plant(
  string_order_at_wrap PUBLISHED SCENE test_end_of_the_counter FILE lock/queue.c EXPECT "n_holders == 1"
  CHANGE "if (left->number != right->number)" "if (strcmp (left->key, right->key) != 0) return strcmp (left->key, right->key)@ if (FALSE)"
         "*number = value@" "*number = 0@"
         "return is_beyond_the_end (queue->numbers[index])" "return FALSE"
         "if (!queue->irregular ||" "if (TRUE ||")
curator_plant(
  ignore_suspended PUBLISHED SCENE test_suspended_makes_suspect FILE session/lease_clock.c EXPECT "CURATOR_LEASE_STATE_SUSPECT"
  CHANGE "session->state != CURATOR_SESSION_CONNECTED || until_suspect <= 0" "until_suspect <= 0")
# Only a heartbeat's check has its session as user data.
curator_plant(
  heartbeat_by_exists PUBLISHED RECIPE mutex FILE session/request.c EXPECT "${two_holders}"
  CHANGE "return ops->check (ops, handle, (const char *const *) request->paths->pdata,"
         "if (request->user_data == session) return ops->exists (ops, handle, request->paths->pdata[0], FALSE, ticket)@
      return ops->check (ops, handle, (const char *const *) request->paths->pdata,"
         "settle (request, rc, reply)@\n  request_free (request)@\n  after_answer (session)@\n  curator_client_unlock"
         "CuratorZkReply answer = *reply@
  if (rc == ZNONODE && request->kind == REQUEST_CHECK && request->user_data == session) answer.failed_index = 0@
  settle (request, rc, &answer)@ request_free (request)@ after_answer (session)@ curator_client_unlock")
curator_plant(
  heartbeat_by_sync PUBLISHED RECIPE mutex FILE session/request.c EXPECT "${two_holders}"
  CHANGE "return ops->check (ops, handle, (const char *const *) request->paths->pdata,"
         "{ int sim_ops_sync (CuratorZkHandle *handle, const char *path, CuratorZkTicket *ticket)@
      if (request->user_data == session) return sim_ops_sync (handle, request->paths->pdata[0], ticket)@ }
      return ops->check (ops, handle, (const char *const *) request->paths->pdata,")
curator_plant(
  no_guard PUBLISHED RECIPE mutex FILE base/lease_math.c EXPECT "${two_holders}"
  CHANGE "return least (by_proof, by_leader)" "return evidence->proof_us + terms->session_us")
curator_plant(
  wall_clock_deadline PUBLISHED TEST ../unit/test_clocks.c FILE zk/zk_real.c EXPECT "test_wall_clock_steps"
  CHANGE "return curator_lease_time_us ()" "return g_get_real_time ()")
curator_plant(
  exists_watch PUBLISHED RECIPE mutex FILE session/watches.c EXPECT "hang|residue"
  CHANGE "else if (entry->by_exists || entry->is_absent)" "else if (TRUE)"
         "if (rc == ZOK) {\n    entry_armed" "if (rc == ZOK || rc == ZNONODE) {\n    entry_armed")
curator_plant(
  keep_watch_on_timeout PUBLISHED SCENE test_no_watch_after_timeout FILE lock/front.c EXPECT "watches"
  CHANGE "set_state (front, CURATOR_FRONT_NOTHING)@\n  g_clear_pointer (&front->first, curator_watch_release)"
         "set_state (front, CURATOR_FRONT_NOTHING)@\n  g_clear_pointer (&front->first, curator_watch_abandon)")
# Continues in the next session with the node of the expired one, and proves the session only.
curator_plant(
  no_session_check PUBLISHED RECIPE mutex FILE lock/own_node.c EXPECT "${two_holders}|is not above"
  CHANGE "g_strdup (node->stake.refuses_check ? node->internals->base : node->path)" "g_strdup (node->internals->base)"
         "&& curator_stake_is_checked (&node->stake, now)" ""
  AND_FILE lock/attempt_end.c
  AND_CHANGE "  curator_attempt_reset (attempt)@\n  curator_attempt_set_state (attempt, ATTEMPT_STARTING)@"
         "  if (rc == ZSESSIONEXPIRED && attempt->own.path != NULL) {
      curator_retry_loop_stop (&attempt->tries)@
      g_clear_pointer (&attempt->own.in_flight, curator_request_forget)@
      curator_listing_leave (&attempt->listing)@
      curator_front_stop (&attempt->front)@
      curator_stake_unregister (&attempt->own.stake)@
      curator_queue_slot_leave (&attempt->slot, FALSE, curator_path_leaf (attempt->own.path))@
      g_clear_pointer (&attempt->local_queue, curator_local_queue_leave)@
      curator_own_node_leave (&attempt->own)@
      curator_own_node_join (&attempt->own, attempt->op.client->session)@
      attempt->local_queue = curator_local_queue_join (attempt->own.session, attempt->internals->base)@
      curator_session_add_hook (attempt->own.session, &attempt->session_hook)@
      attempt->state = ATTEMPT_WAITING@
      curator_attempt_enter (attempt, ATTEMPT_LISTING)@
      return@
    }
  curator_attempt_reset (attempt)@
  curator_attempt_set_state (attempt, ATTEMPT_STARTING)@"
         "curator_retry_loop_again (attempt->restarts, rc)"
         "curator_retry_loop_again (attempt->restarts, rc == ZNONODE ? ZSESSIONEXPIRED : rc)")
curator_plant(
  release_clears_flag_after_delete PUBLISHED SCENE test_release_in_an_outage FILE mutex/mutex.c
  EXPECT "is_owned_by_current_thread|curator_lock_acquire"
  CHANGE "g_hash_table_steal (mutex->lock_data, &owner)@\n  g_free (hold)@" ""
         "if (last != NULL)\n    curator_lease_end (last, op)@\n  else\n"
         "if (last != NULL) {
      curator_lease_end (last, op)@
      if (curator_client_is_connected (lock->client)) g_hash_table_steal (((CuratorMutex *) lock)->lock_data, &owner)@ else last = NULL@
    }
  else\n")
curator_plant(
  multilock_without_break PUBLISHED RECIPE multilock FILE multilock/multilock.c
  EXPECT "${two_holders}|is not held|is not acquired|does not hold"
  CHANGE "take_over (chain, batch, n_held)@" "take_over (chain, batch, n_held)@\n  if (error != NULL && chain->n_held > 0)\n    chain->n_held++@"
         "if (error != NULL && chain->failure == NULL)" "if (error != NULL && chain->failure == NULL && chain->n_held == 0)")
curator_plant(
  semaphore_counts_foreign PUBLISHED SCENE test_foreign_children FILE lock/queue.c EXPECT "leases != NULL"
  CHANGE "queue->n_foreign++@\n      continue@"
         "queue->n_foreign++@ entry.key = entry.name@ entry.number = CURATOR_QUEUE_LAST_NUMBER - (gint64) i@")
curator_plant(
  callback_on_zookeeper_thread PUBLISHED SCENE test_callbacks_may_block FILE core/dispatch.c EXPECT "must not block"
  CHANGE "void\ncurator_dispatch_push ("
         "static void run_here (gpointer job) { curator_task_run (job)@ curator_task_free (job)@ }\n\nvoid\ncurator_dispatch_push ("
         "push_job (client, lane, func, data, destroy)@"
         "is_callback ? curator_client_after_unlock (client, run_here, curator_task_new (func, data, destroy))
                      : push_job (client, lane, func, data, destroy)@")
curator_plant(
  reentry_without_generation PUBLISHED RECIPE mutex FILE mutex/mutex.c EXPECT "a lost hold was entered again"
  CHANGE "if (is_held (hold))" "if (hold != NULL)")

# --- the mutex ---
curator_plant(
  mutex_second_is_first RECIPE mutex FILE lock/driver.c EXPECT "${two_holders}"
  CHANGE "results->gets_the_lock = front < 0" "results->gets_the_lock = front <= 0"
         "results->path_to_watch = front < 0" "results->path_to_watch = front <= 0")
curator_plant(
  mutex_unknown_node_stays RECIPE mutex FILE lock/own_node.c EXPECT "hang|residue"
  CHANGE "  if (node->may_exist)\n    give_up_create (node)@\n  g_clear_pointer (&node->candidates" "  g_clear_pointer (&node->candidates")
curator_plant(
  late_node_stays TEST test_sim_late.c SCENE test_p43_late_creates FILE nodes/reaper.c EXPECT "hindered|left"
  CHANGE "    curator_search_idle (search)@" "    curator_deletion_end (search, NULL)@")
curator_plant(
  late_node_in_front TEST test_sim_late.c SCENE test_p43_late_creates FILE nodes/reaper.c EXPECT "hindered|left"
  CHANGE "search != NULL && i < children->count" "FALSE && search != NULL && i < children->count")
curator_plant(
  late_node_behind_a_hold TEST test_sim_late.c SCENE test_p43_late_creates FILE nodes/deletion.c EXPECT "hindered|left"
  CHANGE "search->is_idle && search->pause_us > LAST_PAUSE_US" "FALSE")
curator_plant(
  mutex_no_deadline RECIPE mutex FILE session/lease_clock.c EXPECT "${two_holders}"
  CHANGE "curator_lease_deadline (&session->clock.evidence, &session->clock.terms)" "G_MAXINT64 / 2")

# --- what a hold is: a session, its timeout as it is now, and a czxid ---
curator_plant(
  timeout_as_granted_last RECIPE mutex FILE session/lease_clock.c EXPECT "${two_holders}|token"
  CHANGE "curator_lease_session_ms (believed_ms, timeout_ms)" "timeout_ms")
curator_plant(
  timeout_as_granted_first RECIPE mutex FILE session/lease_clock.c EXPECT "${two_holders}|token"
  CHANGE "curator_lease_session_ms (believed_ms, timeout_ms)" "believed_ms != 0 ? believed_ms : timeout_ms")
curator_plant(
  czxid_not_compared RECIPE fixed_node FILE lock/node_lease.c EXPECT "long gone|${two_holders}|token"
  CHANGE "lease->stake.czxid = lease->czxid" "lease->stake.czxid = 0"
         "lease->session, lease->path, lease->czxid)" "lease->session, lease->path, 0)")

curator_plant(
  noauth_fails_all TEST test_sim_holds.c SCENE test_unreadable_node FILE session/heartbeat.c EXPECT "CURATOR_LEASE_STATE_HELD"
  CHANGE "(rc == ZNONODE || rc == ZNOAUTH)" "rc == ZNONODE")
curator_plant(
  entry_by_the_published_state TEST test_sim_holds.c SCENE test_no_entry_after_a_pause FILE lock/node_lease.c EXPECT "curator_lock_acquire"
  CHANGE "return left_ms == 0 && !curator_lease_is_over (state) ? CURATOR_LEASE_STATE_LOST : state" "return state")
curator_plant(
  timers_sleep_with_the_machine TEST test_sim_holds.c SCENE test_lost_on_time_after_a_sleep FILE core/dispatch.c EXPECT "lost_us"
  CHANGE "CuratorTimer *timer = curator_timers_insert ("
         "if (clock == CURATOR_CLOCK_ALWAYS)
            when_us += curator_client_now_us (client) - curator_client_boottime_us (client)@
          clock = CURATOR_CLOCK_RUNNING@
          CuratorTimer *timer = curator_timers_insert (")
curator_plant(
  clock_ignores_the_wall RECIPE mutex FILE base/lease_time.c EXPECT "${two_holders}"
  CHANGE "ahead_us + MAX (gained_us, 0)" "ahead_us")
curator_plant(
  clock_follows_the_wall_back TEST ../unit/test_lease_time.c FILE base/lease_time.c EXPECT "test_steps_back"
  CHANGE "behind_us - gained_us" "behind_us")
curator_plant(
  clock_reads_the_wall_last TEST ../unit/test_lease_time.c FILE base/lease_time.c EXPECT "test_slews"
  CHANGE "const gint64 realtime_us = read (CLOCK_REALTIME, data)@\n  const gint64 boottime_us = read (CLOCK_BOOTTIME, data)@"
         "const gint64 boottime_us = read (CLOCK_BOOTTIME, data)@\n  const gint64 realtime_us = read (CLOCK_REALTIME, data)@")
curator_plant(
  clock_believes_a_late_look TEST ../unit/test_lease_time.c FILE base/lease_time.c EXPECT "test_slews|test_pauses_count"
  CHANGE "between_us < 0 || between_us > EXACT_US" "FALSE")
curator_plant(
  clock_takes_a_slew_for_a_jump TEST test_sim_clocks.c SCENE test_slews_of_the_wall_clock FILE base/lease_time.c EXPECT "n_suspects == 0"
  CHANGE "STEP_US + MAX (since_us, 0) / SLEW_SHARE" "1000")
curator_plant(
  jump_is_no_doubt TEST test_sim_clocks.c SCENE test_steps_of_the_wall_clock FILE base/lease_math.c EXPECT "n_suspects == 1"
  CHANGE "return evidence->proof_us == 0 || evidence->stepped_us > evidence->proof_us" "return evidence->proof_us == 0")
curator_plant(
  timers_sleep_over_a_jump TEST test_sim_clocks.c SCENE test_steps_of_the_wall_clock FILE core/timers.c EXPECT "n_suspects == 1"
  CHANGE "if (stepped_us <= timers->stepped_us)" "if (TRUE)")
curator_plant(
  clock_is_not_asked TEST test_sim_holds.c SCENE test_nobody_deleted_it FILE lock/node_lease.c EXPECT "LOST_DELETED"
  CHANGE "if (!curator_lease_is_over (node_state_now (lease)))" "if (!curator_lease_is_over (lease->state))")
curator_plant(
  end_without_guard TEST test_sim_holds.c SCENE test_maximum_of_a_hold FILE lock/node_lease.c EXPECT "now >= scene->lost_us"
  CHANGE "if (reason == CURATOR_LOST_REASON_MAX_HOLD)" "if (FALSE)")
curator_plant(
  end_is_not_moved TEST test_sim_holds.c SCENE test_maximum_of_a_hold FILE lock/node_lease.c EXPECT "scene->ends_us|at_least|ms - 1"
  CHANGE "wanted_us > ends_us" "wanted_us < ends_us")
curator_plant(
  end_is_not_final TEST ../unit/test_finality.c FILE session/lease_clock.c EXPECT "test_end_is_final"
  CHANGE "atomic_compare_exchange_strong (deadline_us, &deadline, 0)" "TRUE")

# What a thread has read is taken for the time by the next that has the mutex.
curator_plant(
  clocks_are_never_forgotten RECIPE mutex FILE core/monitor.c EXPECT "hang"
  CHANGE "client->unlock = (CuratorUnlock){ 0 }@" "client->unlock.first = (CuratorAfter){ 0 }@")
# A grant is judged by a clock that was read before the answer.
curator_plant(
  proof_by_the_time_of_sending TEST test_sim_waiting.c SCENE test_old_proof FILE lock/own_node.c EXPECT "test_old_proof"
  CHANGE "const gint64 now = curator_locked_reread_us (node->session->client)"
         "const gint64 now = node->stake.checked_us")

# --- the fixed node ---
curator_plant(
  fixed_node_adopts_others RECIPE fixed_node FILE lock/own_node.c EXPECT "${two_holders}|token"
  CHANGE "node->may_exist && curator_reply_has_payload (reply, node->payload)" "node->may_exist"
         "reply->stat->ephemeralOwner == curator_own_node_owner (node))" "(node->request->is_ephemeral || reply->stat->ephemeralOwner == 0))")
curator_plant(
  fixed_node_adopts_neighbours RECIPE fixed_node FILE lock/own_node.c EXPECT "${two_holders}|token"
  CHANGE "node->may_exist && curator_reply_has_payload (reply, node->payload)" "TRUE"
         "&& !curator_session_has_stake (node->session, path)" "")
curator_plant(
  fixed_node_deletes_others RECIPE fixed_node FILE lock/node_lease.c EXPECT "deleted by another|${two_holders}"
  CHANGE "lease->name_is_unique ? 0 : lease->czxid" "0")

# --- readers and writers ---
curator_plant(
  rwlock_readers_ignore_writers RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}"
  CHANGE "curator_queue_writer_before (order, index)" "-1")
curator_plant(
  rwlock_readers_look_at_the_first RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}|token"
  CHANGE "curator_queue_writer_before (order, index)"
         "index > 0 && strstr (order->names[0], CURATOR_WRITE_NAME) != NULL ? 0 : -1")
curator_plant(
  rwlock_writers_ignore_readers RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}"
  CHANGE "return key != name ? key : curator_queue_standard_key (name, CURATOR_WRITE_NAME)"
         "return key == name || *lock_name == '_' && lock_name[2] == 'W' ? curator_queue_standard_key (name, CURATOR_WRITE_NAME) : key")
curator_plant(
  rwlock_downgrade_at_the_tail RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}"
  CHANGE "g_strconcat (CURATOR_READ_NAME, digits, NULL)"
         "g_strdup_printf (CURATOR_READ_NAME \"09%08u\", g_str_hash (digits) % 100000000)")
curator_plant(
  rwlock_upgrade_waits RECIPE rwlock FILE rwlock/rwlock.c EXPECT "hang|upgrade"
  CHANGE "if (read_hold != NULL)" "if (FALSE)")
curator_plant(
  rwlock_lost_writer_reads RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}"
  CHANGE "if (curator_lease_get_state (write_hold) >= CURATOR_LEASE_STATE_LOST)" "if (FALSE)"
         "request->required_hold = g_steal_pointer (&write_hold)@" "")

# --- the semaphore ---
curator_plant(
  semaphore_one_too_many RECIPE semaphore FILE semaphore/semaphore.c EXPECT "was granted permit"
  CHANGE "(gint64) order->n_names <= max_leases" "(gint64) order->n_names <= max_leases + 1")
curator_plant(
  semaphore_deaf_to_less RECIPE semaphore FILE semaphore/semaphore.c EXPECT "was granted permit"
  CHANGE "semaphore->leases->max_leases = value@\n  curator_lock"
         "semaphore->leases->max_leases = MAX (value, semaphore->leases->max_leases)@\n  curator_lock")
curator_plant(
  semaphore_deaf_to_more SCENE test_more_leases_at_once FILE semaphore/semaphore.c EXPECT "scene->over"
  CHANGE "curator_lock_internals_recheck (semaphore->leases)" "")
curator_plant(
  semaphore_waits_without_turn RECIPE semaphore FILE semaphore/semaphore_acquire.c EXPECT "hang"
  CHANGE "state == CURATOR_LEASE_STATE_LOST && current != NULL" "FALSE")
curator_plant(
  semaphore_turn_for_each_permit RECIPE semaphore FILE semaphore/semaphore_acquire.c EXPECT "hang"
  CHANGE "      g_ptr_array_add (acquire->leases, lease)@\n    take_lease (acquire)"
         "      g_ptr_array_add (acquire->leases, lease)@\n    if (acquire->turn != lease && acquire->leases->len < acquire->n) { CuratorLease *turn = steal_turn (acquire)@ curator_lease_end (turn, NULL)@ curator_client_after_unlock (client, unref_lease, turn)@ take_turn (acquire)@ } else take_lease (acquire)")
curator_plant(
  shared_count_gives_up SCENE test_count_is_followed_after_a_refusal FILE session/follow.c
  EXPECT "expectation failed"
  CHANGE "watch_again_later (follower)@\n    if (!" "if (!")
curator_plant(
  missing_node_is_given_up TEST test_sim_followed.c SCENE test_p41_short_orders FILE session/watches.c EXPECT "test_p41_short_orders"
  CHANGE "event == CURATOR_WATCH_GONE && watch->follows" "FALSE")
curator_plant(
  sleeps_in_a_new_session TEST test_sim_waiters.c SCENE test_p42_sessions_that_end FILE session/retry_loop.c EXPECT "test_p42_sessions_that_end"
  CHANGE "loop->sleeps && !is_in_new_session (loop)" "loop->sleeps")
# A retry timer goes on while its attempt waits.
curator_plant(
  timer_outlives_its_state SCENE test_timer_ends_with_its_state FILE lock/attempt_end.c EXPECT "crash: Aborted"
  CHANGE "if (rows[state].is_passive)" "if (FALSE)")

# --- the semaphore mutex ---
curator_plant(
  semaphore_mutex_for_two RECIPE semaphore_mutex FILE semaphore/semaphore_mutex.c EXPECT "${two_holders}"
  CHANGE "curator_semaphore_new (client, path, 1, error)" "curator_semaphore_new (client, path, 2, error)")
curator_plant(
  semaphore_mutex_enters_again RECIPE semaphore_mutex FILE semaphore/semaphore_mutex.c EXPECT "entered twice"
  CHANGE "if (lost)" "if (owner != 0 && mutex->lease != NULL && !lost)")

# --- the multi-lock ---
curator_plant(
  multilock_keeps_the_first RECIPE multilock FILE multilock/multilock.c EXPECT "still held|residue|hang|is not above"
  CHANGE "curator_batch_release (chain->multi->members, chain->n_held, chain->next.owner, NULL)@"
         "for (guint i = chain->n_held@ i-- > 1@) {
              g_autoptr (GPtrArray) one = g_ptr_array_new ()@
              g_ptr_array_add (one, g_ptr_array_index (chain->multi->members, i))@
              curator_batch_release (one, 1, chain->next.owner, NULL)@
            }")
curator_plant(
  multilock_keeps_a_lost_member SCENE test_member_lost_while_waiting FILE multilock/multilock.c EXPECT "expectation failed"
  CHANGE "are_all_held (chain) ?" "TRUE ?")
curator_plant(
  multilock_unsorted RECIPE multilock FILE multilock/multilock.c EXPECT "hang"
  CHANGE "g_ptr_array_sort (sorted, curator_compare_strings)" "")
curator_plant(
  multilock_batches_across_clients TEST test_sim_together.c SCENE test_nothing_behind_another_client
  FILE multilock/batch.c EXPECT "expectation failed"
  CHANGE "member->client != client\n      || " "")
curator_plant(
  multilock_member_with_two_nodes TEST test_sim_together.c SCENE test_waiting_keeps_a_prefix
  FILE lock/attempt_end.c EXPECT "expectation failed|hang"
  CHANGE "attempt->withdrawn = TRUE@" "attempt->withdrawn = TRUE@ attempt->own.path = NULL@")
# A try that is refused by a node that is about to be withdrawn.
curator_plant(
  multilock_tries_together TEST test_sim_together.c SCENE test_one_try_wins
  FILE multilock/multilock.c EXPECT "n_holders == 1"
  CHANGE "next->once || chain->n_taken" "chain->n_taken")
# The same, with a second try of one member after another: another contender's first try may still refuse it.
curator_plant(
  multilock_tries_together_then_alone TEST test_sim_together.c SCENE test_one_try_wins
  FILE multilock/multilock.c EXPECT "n_holders == 1"
  CHANGE "next->once || chain->n_taken" "chain->n_taken"
         "take_over (chain, batch, n_held)@"
         "take_over (chain, batch, n_held)@
  if (error != NULL && chain->next.once && chain->n_taken == 1) {
    roll_back (chain)@
    chain->n_taken = MAX_BATCHES@
    error = NULL@
  }")
curator_plant(
  multilock_believes_a_refused_transaction TEST test_sim_together.c SCENE test_one_delete_refused
  FILE nodes/deletion.c EXPECT "expectation failed"
  CHANGE "end_batch (batch, rc != ZOK && curator_zk_is_refusal (rc), rc)"
         "end_batch (batch, FALSE, rc != ZOK && curator_zk_is_refusal (rc) ? ZOK : rc)")

# --- leaders ---
curator_plant(
  selector_leads_when_lost RECIPE leader_selector FILE leader/leader_selector.c EXPECT "leads with a lease that is over|${two_holders}"
  CHANGE "curator_lease_state_now (lease) < CURATOR_LEASE_STATE_LOST" "curator_lease_state_now (lease) <= CURATOR_LEASE_STATE_LOST")
curator_plant(
  selector_not_cancelled_when_suspended RECIPE leader_selector FILE leader/leader_selector.c EXPECT "was not cancelled"
  CHANGE "|| (state == CURATOR_LEASE_STATE_SUSPECT && !selector->until_lost)" "")
curator_plant(
  selector_not_cancelled_when_lost RECIPE leader_selector FILE leader/leader_selector.c EXPECT "was not cancelled|${two_holders}"
  CHANGE "state >= CURATOR_LEASE_STATE_LOST
      || (state == CURATOR_LEASE_STATE_SUSPECT" "(state == CURATOR_LEASE_STATE_SUSPECT")
curator_plant(
  selector_not_cancelled_by_close RECIPE leader_selector FILE leader/leader_selector.c EXPECT "was not cancelled by its close"
  CHANGE "  curator_candidate_withdraw (&selector->candidate)@\n  g_autoptr (GCancellable) cancellable = dup_cancellable (selector)"
         "  curator_candidate_withdraw (&selector->candidate)@\n  g_autoptr (GCancellable) cancellable = NULL")
curator_plant(
  selector_begins_after_the_end RECIPE leader_selector FILE leader/leader_selector.c EXPECT "a leadership that is over"
  CHANGE "if (curator_lease_is_provable (leadership.lease)
      && !g_cancellable_is_cancelled (leadership.cancellable))" "if (TRUE)")
curator_plant(
  selector_forgets_to_requeue RECIPE leader_selector FILE leader/leader_selector.c EXPECT "hang|was out of the queue"
  CHANGE "curator_candidate_queue_again (&selector->candidate, pause_us)@" "")
curator_plant(
  selector_forgets_after_a_failure RECIPE leader_selector FILE leader/candidate.c EXPECT "hang|was out of the queue"
  CHANGE "curator_candidate_queue_again (candidate, CURATOR_CANDIDATE_RETRY_US)@" "")
curator_plant(
  selector_keeps_its_node RECIPE leader_selector FILE leader/leader_selector.c EXPECT "hang|Assertion|crash"
  CHANGE "curator_candidate_step_down (&selector->candidate)@" "")
curator_plant(
  selector_requeues_while_it_leads RECIPE leader_selector FILE leader/leader_selector.c EXPECT "queues while it leads|crash"
  CHANGE "&& selector->cancellable == NULL" ""
         "!curator_candidate_is_queued (&selector->candidate)" "TRUE")
curator_plant(
  candidate_stays_when_closed RECIPE leader_selector FILE leader/candidate.c EXPECT "stayed in the queue"
  CHANGE "  curator_op_cancel (op, g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED,
                                              \"the candidate has left the queue\"))@" "")
curator_plant(
  candidate_without_id RECIPE leader_latch FILE leader/candidate.c EXPECT "does not name the leader"
  CHANGE "if (candidate->payload != NULL)" "if (FALSE)")
curator_plant(
  latch_leads_when_lost RECIPE leader_latch FILE leader/leader_latch.c EXPECT "was not told that|leads with a lease that is over|long gone|${two_holders}"
  CHANGE "(state == CURATOR_LEASE_STATE_HELD" "(state != CURATOR_LEASE_STATE_RELEASED")
curator_plant(
  latch_not_told_when_lost RECIPE leader_latch FILE leader/leader_latch.c EXPECT "was not told that|${two_holders}"
  CHANGE "set_leadership (latch, state_leads (latch, state))" "if (state != CURATOR_LEASE_STATE_LOST) set_leadership (latch, state_leads (latch, state))")
curator_plant(
  latch_leads_when_suspended RECIPE leader_latch FILE leader/leader_latch.c EXPECT "leads with a lease that is over"
  CHANGE "(state == CURATOR_LEASE_STATE_SUSPECT && latch->until_lost)" "state == CURATOR_LEASE_STATE_SUSPECT")
curator_plant(
  latch_does_not_queue_again RECIPE leader_latch FILE leader/leader_latch.c EXPECT "hang"
  CHANGE "step_down (latch)@\n    curator_candidate_queue_again (&latch->candidate, 0)@" "step_down (latch)@")
curator_plant(
  latch_is_told_late RECIPE leader_latch FILE leader/leader_latch.c EXPECT "was not told that|${two_holders}|told the same"
  CHANGE "if (latch->is_leader == is_leader)" "if (latch->is_leader == is_leader || (!is_leader && latch->candidate.lease != NULL && curator_lease_state_now (latch->candidate.lease) == CURATOR_LEASE_STATE_SUSPECT))")
curator_plant(
  latch_close_leaves_a_node RECIPE leader_latch FILE leader/leader_latch.c EXPECT "hang|Assertion|crash"
  CHANGE "    } else {\n      step_down (latch)@" "    } else {")
curator_plant(
  latch_leaves_before_its_listeners RECIPE leader_latch FILE leader/leader_latch.c EXPECT "left the queue before its listeners"
  CHANGE "curator_listeners_count (&latch->listeners) > 0" "FALSE")
curator_plant(
  latch_notifies_nobody RECIPE leader_latch FILE leader/leader_latch.c EXPECT "was not told the end"
  CHANGE "  if (mode == CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT)\n    curator_listeners_remove_all (&latch->listeners, client, TRUE)@"
         "  curator_listeners_remove_all (&latch->listeners, client, mode == CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT)@")
curator_plant(
  latch_is_not_silent RECIPE leader_latch FILE leader/leader_latch.c EXPECT "after a silent close"
  CHANGE "if (mode == CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT)" "if (FALSE)")
curator_plant(
  latch_await_never_ends RECIPE leader_latch FILE leader/leader_latch.c EXPECT "hang"
  CHANGE "  if (is_leader)\n    curator_candidate_end_waits (&latch->candidate)@" "")
# The listeners of a dropped latch keep it open.
curator_plant(
  latch_kept_by_its_listeners RECIPE leader_latch FILE leader/leader_latch.c EXPECT "after a silent close"
  CHANGE "/* All listeners"
         "static gpointer\nref_latch (gpointer latch)\n{
  return curator_refs_try_inc (&((CuratorLeaderLatch *) latch)->candidate.refs) ? curator_candidate_ref (latch) : NULL@\n}\n\n/* All listeners"
         "curator_candidate_ref, curator_candidate_unref, is_leader)" "ref_latch, (GDestroyNotify) curator_leader_latch_unref, is_leader)")

# --- what an unanswered deadline is told as ---
curator_plant(
  outage_as_contention RECIPE mutex FILE lock/lock_internals.c
  EXPECT "unexpected outcome of acquire: curator-error-quark, 3"
  CHANGE "if (!is_contended && !(op->contender_was_shown" "if (FALSE && !(op->contender_was_shown")
curator_plant(
  contention_as_outage RECIPE mutex FILE lock/lock_internals.c
  EXPECT "unexpected outcome of acquire: curator-error-quark, 14"
  CHANGE "if (!is_contended && !(op->contender_was_shown" "if (TRUE || !(op->contender_was_shown")

# --- the shortcuts ---
curator_plant(
  shortcut_skip_too_early RECIPE mutex FILE lock/verdict.c EXPECT "${two_holders}|token"
  CHANGE "verdict->is_next = index == max_leases" "verdict->is_next = TRUE")
curator_plant(
  shortcut_skip_in_rwlock RECIPE rwlock FILE rwlock/rwlock.c EXPECT "${two_holders}"
  CHANGE "driver->neighbours_succeed = writes" "driver->nothing_overtakes = writes")
curator_plant(
  shortcut_neighbours_far_apart RECIPE mutex FILE lock/local_queue.c EXPECT "${two_holders}|token"
  CHANGE "last->number + 1 == number" "last->number < number")
curator_plant(
  shortcut_neighbour_of_a_reader RECIPE rwlock FILE lock/local_queue.c EXPECT "${two_holders}"
  CHANGE "released = released && !slot->number_is_shared" "")
# A late event is taken for a proof of the session.
curator_plant(
  shortcut_stale_clock RECIPE mutex FILE lock/attempt_confirm.c EXPECT "${two_holders}|token"
  CHANGE "  attempt->contender_shown = FALSE@\n  if (!must_confirm && curator_own_node_is_proven (&attempt->own)) {\n    finish_granted (attempt)@"
         "  attempt->contender_shown = FALSE@
  gint64 curator_client_boottime_us (CuratorClient *)@
  attempt->own.session->clock.evidence.proof_us = attempt->own.session->clock.evidence.known_us = curator_client_boottime_us (attempt->op.client)@
  atomic_store (&attempt->own.session->clock.deadline_us, curator_lease_deadline (&attempt->own.session->clock.evidence, &attempt->own.session->clock.terms))@\n  if (!must_confirm) {\n    finish_granted (attempt)@")
# The expiry deletes the session's own node in front, which is taken for a release.
curator_plant(
  shortcut_own_end SCENE test_own_end_grants_nothing FILE lock/front.c EXPECT "expectation failed"
  CHANGE "front->state == CURATOR_FRONT_LAST\n      && curator_watch_is_own (watch)" "FALSE"
         "view->is_last && !is_ours (front, front->first)" "view->is_last")
# The number right after that of an earlier session is taken for the next in line.
curator_plant(
  shortcut_across_sessions RECIPE mutex FILE lock/attempt.c EXPECT "${two_holders}|token"
  CHANGE "  if (number >= 0 && curator_own_node_has_neighbours (node)) {\n"
         "  static GHashTable *lasts@ if (lasts == NULL) lasts = g_hash_table_new (NULL, NULL)@ const gsize before = GPOINTER_TO_SIZE (g_hash_table_lookup (lasts, attempt->op.client))@ g_hash_table_insert (lasts, attempt->op.client, GSIZE_TO_POINTER (((gsize) number + 1) << 16 | attempt->own.session->epoch))@ const gboolean follows = before > 0 && before >> 16 == (gsize) number && (before & 0xffff) != attempt->own.session->epoch@\n  if (number >= 0 && curator_own_node_has_neighbours (node)) {\n"
         "  } else if (attempt->listing.listing == NULL) {\n    curator_attempt_enter (attempt, ATTEMPT_LISTING)@\n"
         "  } else if (follows) {\n    curator_listing_leave (&attempt->listing)@ curator_attempt_grant (attempt, FALSE)@\n  } else if (attempt->listing.listing == NULL) {\n    curator_attempt_enter (attempt, ATTEMPT_LISTING)@\n")

# --- sessions that wait ---
# A turn without warning is granted on the list alone.
curator_plant(
  waiting_surprise_unchecked TEST test_sim_waiting.c SCENE test_old_proof FILE lock/attempt_confirm.c EXPECT "test_old_proof"
  CHANGE "attempt->contender_shown = FALSE@\n  if (!must_confirm && curator_own_node_is_proven (&attempt->own))" "attempt->contender_shown = FALSE@\n  if (!must_confirm)")
# The session is checked before the grant, but not the node.
curator_plant(
  waiting_session_without_node TEST test_sim_waiting.c SCENE test_node_gone FILE lock/own_node.c EXPECT "test_node_gone"
  CHANGE "g_strdup (node->stake.refuses_check ? node->internals->base : node->path)" "g_strdup (node->internals->base)")
curator_plant(
  waiting_other_node_checked TEST test_sim_waiting.c SCENE test_node_replaced FILE lock/own_node.c EXPECT "test_node_replaced"
  CHANGE "rc == ZOK && stake->needs_read" "rc == ZOK && stake->refuses_check")
# The node of a far waiter counts as checked recently, as that of a near one.
curator_plant(
  waiting_far_taken_as_near TEST test_sim_waiting.c SCENE test_node_gone FILE session/lease_clock.c EXPECT "test_node_gone"
  CHANGE "<= curator_lease_newest_us (&stake->session->clock.terms)" "<= stake->session->clock.terms.session_us")
# So does the proof of its session.
curator_plant(
  waiting_old_proof_is_fresh TEST test_sim_waiting.c SCENE test_old_proof FILE base/lease_math.c EXPECT "test_old_proof"
  CHANGE "return most (2 * terms->period_us, terms->period_us + prompt_us (terms))" "return terms->session_us"
         "curator_lease_deadline (evidence, terms) - now_us > enough_us (evidence, terms)" "1")
curator_plant(
  waiting_all_at_reconnect TEST test_sim_waiting.c SCENE test_election FILE session/heartbeat.c EXPECT "test_election"
  CHANGE "if (session->beat.far_due_us <= now)" "if (TRUE)"
         "now + random_us (session, curator_session_terms (session)->session_us)" "now")
curator_plant(
  waiting_few_at_a_time TEST test_sim_waiting.c SCENE test_deleted_nodes_are_found FILE session/heartbeat.c EXPECT "test_deleted_nodes_are_found"
  CHANGE "#define MAX_WAITING_A_BEAT       1000" "#define MAX_WAITING_A_BEAT 16")
curator_plant(
  waiting_slow_by_policy TEST test_sim_waiting.c SCENE test_slow_confirmation FILE lock/attempt_confirm.c EXPECT "test_slow_confirmation"
  CHANGE "curator_lease_terms_are_too_short (curator_session_terms (session))" "TRUE")
curator_plant(
  waiting_all_are_near TEST test_sim_waiting.c SCENE test_rates FILE lock/verdict.c EXPECT "test_rates"
  CHANGE "index < max_leases)" "TRUE)")

# --- the arithmetic of the lease clock ---
curator_plant(
  lease_guard_without_period TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "regular: a hold outlives"
  CHANGE "terms->period_us + terms->half_tick_us + prompt_us (terms)"
         "terms->half_tick_us + prompt_us (terms)")
curator_plant(
  lease_guard_without_half_tick TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "regular: a hold outlives"
  CHANGE "terms->period_us + terms->half_tick_us + prompt_us (terms)" "terms->period_us + prompt_us (terms)")
curator_plant(
  lease_guard_without_slowest TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "regular: a hold outlives"
  CHANGE "terms->period_us + terms->half_tick_us + prompt_us (terms)"
         "terms->period_us + terms->half_tick_us")
curator_plant(
  lease_guard_without_drift TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "regular: a hold outlives"
  CHANGE "prompt_us (terms)\n         + terms->session_us / DRIFT_SHARE" "prompt_us (terms)")
curator_plant(
  lease_leader_without_drift TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "terms->session_us - terms->session_us / DRIFT_SHARE" "terms->session_us")
curator_plant(
  lease_deadline_by_proof TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "return least (by_proof, by_leader)" "return by_proof")
curator_plant(
  lease_deadline_by_leader TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "regular: a hold outlives"
  CHANGE "return least (by_proof, by_leader)" "return by_leader")
curator_plant(
  lease_telling_without_half_tick TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "return terms->half_tick_us + terms->session_us / LATE_PING_SHARE"
         "return terms->session_us / LATE_PING_SHARE")
curator_plant(
  lease_telling_without_late_pings TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "return terms->half_tick_us + terms->session_us / LATE_PING_SHARE" "return terms->half_tick_us")
curator_plant(
  lease_told_from_sending TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "marks[i].answered_us <= sent_us - telling_us" "marks[i].sent_us <= sent_us - telling_us")
curator_plant(
  lease_told_by_the_answer TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "answered_us <= sent_us - telling_us (terms)" "answered_us <= now_us - telling_us (terms)")
curator_plant(
  lease_known_from_the_answer TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "most (known_us, evidence->marks[i].sent_us)" "most (known_us, evidence->marks[i].answered_us)")
curator_plant(
  lease_known_by_the_proof TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "evidence->known_us = known_us" "evidence->known_us = sent_us")
curator_plant(
  lease_proof_from_the_answer TEST ../unit/test_lease_math.c FILE base/lease_math.c
  EXPECT "regular: (a hold outlives|a jump of the clocks leaves no doubt)"
  CHANGE "evidence->proof_us = sent_us" "evidence->proof_us = now_us")
curator_plant(
  lease_slow_answers_count TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "a slow answer proves"
  CHANGE "now_us - sent_us > prompt_us (terms) || " "")
curator_plant(
  lease_timeout_as_granted_last TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "believed_ms > 0 && believed_ms < granted_ms ? believed_ms" "0 ? believed_ms")
curator_plant(
  lease_timeout_as_granted_first TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "disturbed: a hold outlives"
  CHANGE "believed_ms > 0 && believed_ms < granted_ms ? believed_ms" "believed_ms > 0 ? believed_ms")
curator_plant(
  lease_fresh_for_too_short TEST ../unit/test_lease_math.c FILE base/lease_math.c EXPECT "fresh evidence for a hold that ends"
  CHANGE "return most (least (pause + prompt_us (terms), usable_us (terms) / 2), 0)" "return 0")
curator_plant(
  lease_marks_too_close TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "a healthy|not fresh|not granted"
  CHANGE "most (terms->half_tick_us / 4, reach / CURATOR_N_MARKS)" "terms->half_tick_us / 4")
curator_plant(
  lease_ring_too_short TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "healthy|not granted"
  CHANGE "% CURATOR_N_MARKS" "% 2")
curator_plant(
  lease_ring_forgets TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "healthy|granted"
  CHANGE "evidence->n_marks + 1 : CURATOR_N_MARKS" "evidence->n_marks + 1 : 0")
curator_plant(
  lease_fresh_for_two_periods TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "not fresh|is refused"
  CHANGE "most (2 * terms->period_us, terms->period_us + prompt_us (terms))" "2 * terms->period_us")
curator_plant(
  lease_suspect_by_periods TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "healthy hold is suspect"
  CHANGE "most (5 * terms->period_us / 2, 3 * terms->period_us / 2 + prompt_us (terms))"
         "5 * terms->period_us / 2")
curator_plant(
  lease_enough_for_long_sessions TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "not fresh|is refused"
  CHANGE "least (pause + prompt_us (terms), usable_us (terms) / 2)" "(pause + prompt_us (terms))")
curator_plant(
  lease_never_bound_by_leader TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "healthy|is refused"
  CHANGE "return evidence->known_us + guard_us (terms) < evidence->proof_us" "return 0")
curator_plant(
  lease_told_too_soon TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "healthy|granted"
  CHANGE "evidence->marks[i].answered_us + telling_us (terms))"
         "evidence->marks[i].sent_us + telling_us (terms))")
curator_plant(
  lease_told_by_the_next_only TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "healthy|granted"
  CHANGE "evidence->marks[i].sent_us > evidence->known_us" "0")
curator_plant(
  lease_never_waits_for_telling TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "is refused"
  CHANGE "return by_proof && curator_lease_is_bound_by_leader (evidence, terms)" "return 0")
curator_plant(
  lease_leader_not_noted TEST ../unit/test_lease_math_liveness.c FILE base/lease_math.c EXPECT "healthy"
  CHANGE "evidence->known_us = most (evidence->known_us, asked_us)"
         "(void) most (evidence->known_us, asked_us)")

# --- the count, for scripts/test and the report ---
get_property(planted_published GLOBAL PROPERTY CURATOR_PLANTED_PUBLISHED)
get_property(planted_others GLOBAL PROPERTY CURATOR_PLANTED_OTHERS)
add_test(NAME planted_bugs
         COMMAND "${CMAKE_COMMAND}" "-DPUBLISHED=${planted_published}" "-DOTHERS=${planted_others}"
                 "-DRESULTS=${planted_results}" "-DREPORT=${PROJECT_BINARY_DIR}/planted-bugs.txt" -P
                 "${CMAKE_CURRENT_SOURCE_DIR}/planted_bugs.cmake")
set(planted_tests ${planted_published} ${planted_others})
list(TRANSFORM planted_tests PREPEND planted_)
set_tests_properties(planted_bugs PROPERTIES LABELS planted DEPENDS "${planted_tests}")
