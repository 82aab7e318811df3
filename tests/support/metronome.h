/* How late this machine is: a thread that sleeps in small steps notes by how much each was too
 * long. A bound in milliseconds is asserted together with that. */
#ifndef CURATOR_TEST_METRONOME_H
#define CURATOR_TEST_METRONOME_H

#include <glib.h>

/* Once a program, in its main (); it runs until the end. */
void metronome_start (void);
/* The longest, and the sum of the delays of the steps that ended since then (CLOCK_MONOTONIC). */
gint64 metronome_worst_stall_us (gint64 since_us);
gint64 metronome_stalled_us (gint64 since_us);

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

#endif
