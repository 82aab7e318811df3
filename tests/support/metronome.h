/* A bound in milliseconds is asserted together with how late the machine was. */
#pragma once

#include "support/lateness.h"

/* How long the threads of a process waited for a processor, together, since they began; of one that
 * has ended and was not waited for, its first thread. */
gint64 metronome_waited_us (int pid);

/* Asserts a promise: took_ms, measured from since_ms (wait_now_ms ()) on, is at most bound_ms and
 * as late as the machine was. Without a promise, wait for the state for LONG_MS instead. The test
 * `clocks` wants a comment in the line above: who promises it? */
#define assert_promised_ms(took_ms, bound_ms, since_ms)                                            \
  metronome_assert (took_ms, bound_ms, since_ms, __FILE__, __LINE__)
void metronome_assert (gint64 took_ms, gint64 bound_ms, gint64 since_ms, const char *file,
                       int line);

/* The main function of a suite with promises. */
#define PROMPT_SUITE(name, start, stop)                                                            \
  int main (void)                                                                                  \
  {                                                                                                \
    metronome_start ();                                                                            \
    return suite_run ((name), (start), (stop));                                                    \
  }
