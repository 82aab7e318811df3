/* Names the call that crashes or hangs, in tests whose calls are generated. */
#pragma once

/* text is written to standard error before a signal ends the process, SIGALRM too. It is read then,
 * so the caller keeps it, and changes it before each call. */
void crashes_watch (const char *text);
