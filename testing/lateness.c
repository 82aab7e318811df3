#include "support/lateness.h"

#include "curator/testing.h"

gint64
curator_test_get_machine_delay_us (gint64 since_us)
{
  metronome_start ();
  return MAX (metronome_stalled_us (since_us), 0);
}
