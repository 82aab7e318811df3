/* Child processes that cannot outlive the test. */
#pragma once

#include <glib.h>
#include <sys/types.h>

/* Runs argv[0] (a path) with stdout and stderr appended to output; no other descriptor is passed
 * on. The child is killed when the calling thread ends, so call it from the test's main thread.
 * Returns 0 when it could not be started. */
pid_t process_spawn (char *const *argv, const char *output);

/* Waits until it has ended; FALSE when it still runs after timeout_ms. status as of waitpid(). */
gboolean process_wait (pid_t pid, int timeout_ms, int *status);

/* SIGKILL, and waits until it is gone. */
void process_kill (pid_t pid);
