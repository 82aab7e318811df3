/* Folders for files that several processes map.
 *
 * In memory where the system has a folder for that: a store into a mapped file on a busy disk may
 * block for seconds, and delay the process that is being measured. */
#pragma once

#include <glib.h>

/* Creates a folder of that name and some random letters. Free it with scratch_remove (). */
char *scratch_new (const char *name);
/* Removes the folder with its files (no subfolders). Frees directory. */
void scratch_remove (char *directory);
