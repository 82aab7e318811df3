#ifndef ZKFLOCK_HINT_H
#define ZKFLOCK_HINT_H

#include <glib.h>

/* The verb that word was meant to be, or NULL. verbs ends with NULL. */
const char *hint_verb (const char *word, const char *const *verbs);
/* The long name that word ("--nonblok", or "--lable=x") was meant to be, or NULL. names: of char *,
 * without the hyphens. */
const char *hint_option (const char *word, GPtrArray *names);

#endif
