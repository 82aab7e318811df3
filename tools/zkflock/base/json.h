#ifndef ZKFLOCK_JSON_H
#define ZKFLOCK_JSON_H

#include <glib.h>

/* name: of the member; NULL inside an array. */
void json_begin_object (GString *out, const char *name);
void json_end_object (GString *out);
void json_begin_array (GString *out, const char *name);
void json_end_array (GString *out);
void json_string (GString *out, const char *name, const char *bytes, gssize length);
void json_int (GString *out, const char *name, gint64 value);
void json_bool (GString *out, const char *name, gboolean value);
/* value: 0 to 1; written with six decimals. */
void json_share (GString *out, const char *name, double value);

#endif
