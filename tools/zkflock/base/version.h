/* Prints the versions of this program and of its libraries, for -V. */
#ifndef ZKFLOCK_VERSION_H
#define ZKFLOCK_VERSION_H

void print_versions (void);

#endif
