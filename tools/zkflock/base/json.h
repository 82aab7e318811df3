#pragma once

#include <glib.h>

/* name: of the member; NULL inside an array. */
/* bracket: of an object or an array. */
void json_begin (GString *out, const char *name, char bracket);
void json_end (GString *out, char bracket);
void json_string (GString *out, const char *name, const char *bytes, gssize length);
void json_int (GString *out, const char *name, gint64 value);
void json_bool (GString *out, const char *name, gboolean value);
/* value: 0 to 1; written with six decimals. */
void json_share (GString *out, const char *name, double value);
