/* Exit codes, as in sysexits.h and in shells. */
#pragma once

enum
{
  EXIT_CODE_FREE = 3, /* of who: nobody holds the lock or waits for it */
  EXIT_CODE_USAGE = 64,
  EXIT_CODE_UNREACHABLE = 69,
  EXIT_CODE_NOT_KILLED = 70,
  EXIT_CODE_SHORTAGE = 71, /* this machine is short of something: later it may work */
  EXIT_CODE_OUTPUT = 74,
  EXIT_CODE_LOST = 75,
  EXIT_CODE_TLS = 76,
  EXIT_CODE_REFUSED = 77,
  EXIT_CODE_NOT_EXECUTABLE = 126,
  EXIT_CODE_NOT_FOUND = 127,
  EXIT_CODE_SIGNAL = 128 /* plus the number of the signal */
};
