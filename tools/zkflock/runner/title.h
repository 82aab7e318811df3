#pragma once

/* Remembers where the arguments are. */
void title_init (int argc, char **argv);
/* Replaces the name and the arguments of this process, whose arguments are lost. name: at most 15
 * characters. */
void title_set (const char *name);
