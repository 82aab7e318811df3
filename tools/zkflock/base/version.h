#ifndef ZKFLOCK_VERSION_H
#define ZKFLOCK_VERSION_H

void print_versions (void);

#endif
