/* Messages, ours and libzookeeper's, to GLib's structured log under the domain "curator". */
#pragma once

#include <glib.h>

#define CURATOR_LOG_DOMAIN "curator"

/* Names that came from a server are escaped by the caller (curator_path_escape). */
#define curator_warn(...) curator_log (G_LOG_LEVEL_WARNING, __VA_ARGS__)
#define curator_info(...) curator_log (G_LOG_LEVEL_INFO, __VA_ARGS__)
/* Only formatted when G_MESSAGES_DEBUG names the domain: every step of every attempt has one. */
#define curator_debug(...)                                                                         \
  do {                                                                                             \
    if (G_UNLIKELY (curator_log_debug_is_on ()))                                                   \
      curator_log (G_LOG_LEVEL_DEBUG, __VA_ARGS__);                                                \
  } while (0)

/* With a client's mutex held, the message is written after the unlock. */
void curator_log (GLogLevelFlags level, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Looked up once. */
gboolean curator_log_debug_is_on (void);

/* The caller may hold locks of libzookeeper's, so it takes none of ours. */
void curator_log_zookeeper_line (const char *line);
