#pragma once

#include "curator/error.h"
#include "curator/tls.h"

#include <glib.h>

/* What this machine is short of, by the errno of a failed call. */
gboolean curator_is_shortage (int error);
/* The system's text, and the limit that was reached, where there is one. Any errno. */
char *curator_shortage_describe (int error);
/* Whether getrandom () does not wait, and so never will: what holds the client's mutex, or has
 * blocked its signals, must not wait for the system to collect entropy. FALSE with RESOURCES. */
gboolean curator_check_random (GError **error);
/* CONNECT, or RESOURCES, with the text of an errno. */
void curator_channel_set_errno (GError **error, const char *what, int number);
/* UNSUPPORTED; returns FALSE. */
gboolean curator_channel_unsupported (GError **error, const char *what);

/* A function that a build without TLS or SASL has only so that others can name it. */
#define CURATOR_STUB(Result, name, parameters, value)                                              \
  Result name parameters                                                                           \
  {                                                                                                \
    return value;                                                                                  \
  }
