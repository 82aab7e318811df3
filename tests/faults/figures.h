/* Figures of a test, one value a line, for the table by scripts/lib/figures. */
#pragma once

#include <glib.h>
#include <stdio.h>

/* name: of the test; its earlier figures are overwritten. The folder is CURATOR_FIGURES, or
 * "figures" in the build folder. NULL if the file cannot be written. */
FILE *figures_open (const char *name);
void figures_add (FILE *figures, const char *name, double value);
