/* Messages through GLib's structured log, domain "curator"; libzookeeper's own go the same way. */
#ifndef CURATOR_LOG_H
#define CURATOR_LOG_H

#include <glib.h>

#define CURATOR_LOG_DOMAIN "curator"

/* Names that came from a server are escaped by the caller (curator_path_escape). */
#define curator_warn(...) curator_log (G_LOG_LEVEL_WARNING, __VA_ARGS__)
#define curator_info(...) curator_log (G_LOG_LEVEL_INFO, __VA_ARGS__)
/* Only formatted when G_MESSAGES_DEBUG names the domain: every step of every attempt has one. */
#define curator_debug(...)                                                                         \
  do                                                                                               \
    {                                                                                              \
      if (G_UNLIKELY (curator_log_debug_is_on ()))                                                 \
        {                                                                                          \
          curator_log (G_LOG_LEVEL_DEBUG, __VA_ARGS__);                                            \
        }                                                                                          \
    }                                                                                              \
  while (0)

/* @locality any thread; under a client's mutex the message is written after that was given back. */
void curator_log (GLogLevelFlags level, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* @locality any thread. Looked up once. */
gboolean curator_log_debug_is_on (void);

/* @locality any thread, with locks of libzookeeper's possibly held: takes none of ours. */
void curator_log_zookeeper_line (const char *line);

#endif
