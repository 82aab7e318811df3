#pragma once

#include "curator/error.h"
#include "curator/tls.h"

#include <glib.h>

/* CONNECT with the text of an errno. */
void curator_channel_set_errno (GError **error, const char *what, int number);
/* UNSUPPORTED; returns FALSE. */
gboolean curator_channel_unsupported (GError **error, const char *what);

/* A function that a build without TLS or SASL has only so that others can name it. */
#define CURATOR_STUB(Result, name, parameters, value)                                              \
  Result name parameters                                                                           \
  {                                                                                                \
    return value;                                                                                  \
  }
