# SPDX-License-Identifier: Apache-2.0
# Workers of the chaos test with a bug planted in the library: "scripts/soak --planted" requires chaos to find each of them.
# They are not built otherwise.

# curator_plant_chaos (name KINDS kind,... FILE source EXPECT regex CHANGE old new [old new ...])
function(curator_plant_chaos name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "KINDS;FILE;EXPECT" "CHANGE")
  curator_plant_source(${name} "${arg_FILE}" arg_CHANGE planted)
  set(target "chaos_planted_${name}")
  add_executable(${target} EXCLUDE_FROM_ALL ${chaos_worker_sources} "${planted}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin" ENABLE_EXPORTS ON)
  curator_test_target(${target})
  target_link_libraries(${target} PRIVATE curator_faults)
  add_dependencies(chaos_planted ${target})
  file(APPEND "${chaos_plants}" "${name} ${arg_KINDS} ${arg_EXPECT}\n")
endfunction()

set(chaos_plants "${PROJECT_BINARY_DIR}/chaos-plants.txt") # lines of name, kinds, expected regex
file(WRITE "${chaos_plants}" "")
add_custom_target(chaos_planted DEPENDS chaos)

# A deletion does not end the hold.
curator_plant_chaos(
  chaos_deaf_to_deletions KINDS deletion FILE lock/node_lease.c EXPECT "late loss|two holders"
  CHANGE "  if (curator_lease_is_over (lease->state))\n    return@\n  end_as_lost"
         "  if (curator_lease_is_over (lease->state) || reason == CURATOR_LOST_REASON_DELETED)\n    return@\n  end_as_lost")
# Any node of that name is ours.
curator_plant_chaos(
  chaos_czxid_not_compared KINDS recreation FILE lock/node_lease.c EXPECT "late loss|two holders"
  CHANGE "lease->stake.czxid = lease->czxid" "lease->stake.czxid = 0"
         "lease->session, lease->path, lease->czxid)" "lease->session, lease->path, 0)")
# A session timeout that a server with another configuration has shortened is not heeded.
curator_plant_chaos(
  chaos_timeout_of_the_old_server KINDS rolling,paths,processes FILE session/lease_clock.c EXPECT "two holders|too many permits|refuses token|token not rising"
  CHANGE "curator_lease_session_ms (believed_ms, timeout_ms)" "believed_ms != 0 ? believed_ms : timeout_ms")
# A deletion is given up for ever when a permission is missing for a while.
curator_plant_chaos(
  chaos_refused_delete_is_final KINDS acl FILE nodes/deletion.c EXPECT "hangs|orphans"
  CHANGE "if (rc != ZNOAUTH)" "if (TRUE)")
# A refusal for a quota is taken for a broken connection.
curator_plant_chaos(
  chaos_quota_is_an_outage KINDS quota FILE core/zk_error.c EXPECT "kinds_without_effect|hangs"
  CHANGE "return is_one_of (rc, retryable" "return rc == CURATOR_ZK_QUOTA_EXCEEDED || is_one_of (rc, retryable")
# The clock of the leases stands still while the machine sleeps.
curator_plant_chaos(
  chaos_clock_sleeps KINDS sleep FILE zk/zk_real.c EXPECT "refuses token|token not rising|two holders|too many permits"
  CHANGE "return curator_lease_time_us ()" "return real_monotonic_us (ops)")
