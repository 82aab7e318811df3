/* Tells when the calling thread ends; see thread_end.c. */
#pragma once

/* begins runs on the calling thread before the destructors of what libraries keep for it, is_over
 * after them. Neither for the first thread of a process. Once a thread. */
void curator_thread_end_watch (void (*begins) (void), void (*is_over) (void));
