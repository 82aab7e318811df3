/* Folders for files that several processes map.
 *
 * In memory where the system has a place for that: a store into a mapped file of a disk may wait for
 * seconds while the disk is busy, and with it whoever is being measured. */
#ifndef CURATOR_TEST_SCRATCH_H
#define CURATOR_TEST_SCRATCH_H

#include <glib.h>

/* A new one, of that name and some letters. Give it to scratch_remove (). */
char *scratch_new (const char *name);
/* With the files in it, which are no folders. Takes directory. */
void scratch_remove (char *directory);

#endif
