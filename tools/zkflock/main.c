/* zkflock: flock(1) for a ZooKeeper ensemble. */
#include "base/options.h"
#include "base/outcome.h"
#include "lock.h"
#include "runner/terminal.h"
#include "views/views.h"

#include <locale.h>

int
main (int argc, char **argv)
{
  static int (*const verbs[]) (const Options *) = { lock_and_run, who_run,    top_run,
                                                    tree_run,     revoke_run, doctor_run };
  Options options;
  int code;

  setlocale (LC_ALL, "");
  if (options_parse (&options, argc, argv, &code))
    {
      outcome_start ();
      silence_logs (options.verbose);
      code = verbs[options.verb](&options);
    }
  options_clear (&options);
  terminal_follow_signal ();
  return code;
}
