/* Exit codes of errors, and messages of --verbose. */
#include "base/outcome.h"

#include "base/status.h"
#include "channel/channel_error.h"

#include <curator/curator.h>
#include <stdarg.h>
#include <zookeeper/zookeeper.h>

static gint64 start_us;

void
outcome_start_clock (void)
{
  start_us = g_get_monotonic_time ();
}

gint64
outcome_elapsed_ms (void)
{
  return (g_get_monotonic_time () - start_us) / 1000;
}

gint64
outcome_left_ms (const Options *options)
{
  const gint64 bound_ms = options->wait_ms == 0 ? options->connect_timeout_ms : options->wait_ms;
  return bound_ms == CURATOR_WAIT_FOREVER ? G_MAXINT : bound_ms - outcome_elapsed_ms ();
}

gint64
outcome_answer_ms (const Options *options, gint64 most_ms)
{
  return MIN (most_ms, MAX (outcome_left_ms (options), LAST_ANSWER_MS));
}

gint64
outcome_close_ms (const Options *options)
{
  return CLAMP (outcome_left_ms (options) + CLOSE_MS, LAST_ANSWER_MS, CLOSE_MS);
}

void
print_verbose (const Options *options, const char *format, ...)
{
  if (!options->verbose)
    return;
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  const gint64 ms = outcome_elapsed_ms ();
  print_note (options->paths[0], "%d.%03d s: %s", (int) (ms / 1000), (int) (ms % 1000), text);
}

int
report_shortage (const char *path, const char *what, int error)
{
  g_autofree char *why = curator_shortage_describe (error);

  print_error (path, "%s: %s", what, why);
  return EXIT_CODE_SHORTAGE;
}

static gboolean
is_refusal (const GError *error)
{
  return g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_AUTH_FAILED)
         || g_error_matches (error, CURATOR_ZK_ERROR, ZNOAUTH)
         || g_error_matches (error, CURATOR_ZK_ERROR, ZINVALIDACL)
         || g_error_matches (error, CURATOR_ZK_ERROR, ZAUTHFAILED);
}

gboolean
is_no_answer (const GError *error)
{
  return g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
         || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)
         || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST);
}

int
exit_code_of_cause (const GError *error)
{
  if (is_refusal (error)
      || g_error_matches (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_SASL))
    return EXIT_CODE_REFUSED;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES))
    return EXIT_CODE_SHORTAGE;
  const gboolean is_of_tls =
      g_error_matches (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_TLS)
      || g_error_matches (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED)
      || g_error_matches (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE);
  return is_of_tls ? EXIT_CODE_TLS : EXIT_CODE_UNREACHABLE;
}

int
exit_code_of (const Options *options, const GError *error)
{
  if (is_refusal (error))
    return EXIT_CODE_REFUSED;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT)
      || g_error_matches (error, CURATOR_ZK_ERROR, ZNOCHILDRENFOREPHEMERALS))
    return EXIT_CODE_USAGE;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    return options->conflict_code;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST))
    return EXIT_CODE_LOST;
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES))
    return EXIT_CODE_SHORTAGE;
  return EXIT_CODE_UNREACHABLE;
}

int
fail_with (const Options *options, const GError *error)
{
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)) {
    status_set_verdict ("conflict");
    print_verbose (options, "another contender is still ahead");
  } else {
    print_error (options->paths[0], "%s", error->message);
  }
  return exit_code_of (options, error);
}
