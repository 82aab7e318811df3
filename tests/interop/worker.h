/* The C side of an interop test: a process whose threads take turns through this library and record
 * their events. The test's own executable, run again with "worker" as its first argument. */
#ifndef CURATOR_TEST_WORKER_H
#define CURATOR_TEST_WORKER_H

/* worker CONNECT PATH THREADS ACQUISITIONS HOLD-MS PROCESS LOG-DIRECTORY
 * Returns the exit status: 0 when every acquire and release went well. */
int worker_main (int argc, char **argv);

#endif
