#ifndef CURATOR_CHANNEL_ERROR_H
#define CURATOR_CHANNEL_ERROR_H

#include "curator/error.h"
#include "curator/tls.h"

#include <glib.h>

/* CONNECT with the text of an errno. */
void curator_channel_set_errno (GError **error, const char *what, int number);
/* UNSUPPORTED; returns FALSE. */
gboolean curator_channel_unsupported (GError **error, const char *what);

#endif
