#ifndef ZKFLOCK_CONFIG_H
#define ZKFLOCK_CONFIG_H

#include "base/options-private.h"

/* Fills in what the files set: $ZKFLOCK_CONFIG alone if it is set, else $XDG_CONFIG_HOME/zkflock.conf
 * and, for what that leaves open, /etc/zkflock.conf. FALSE with *exit_code after printing why a file
 * cannot be used. */
gboolean config_read (RawOptions *defaults, int *exit_code);

#endif
