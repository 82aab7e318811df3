/* The findings of doctor, collected by its checks: for people, or as JSON. */
#include "views/findings.h"

#include "base/json.h"

void
doctor_report (Doctor *doctor, Level level, const char *check, const char *subject,
               const char *format, ...)
{
  static const char *const levels[] = { "note", "warning", "problem" };
  GString *out = doctor->findings;
  va_list args;

  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  doctor->has_problem = doctor->has_problem || level != LEVEL_NOTE;
  if (!doctor->options->json) {
    g_string_append_printf (out, "%s: %s: %s\n", levels[level], subject, text);
    return;
  }
  json_begin (out, NULL, '{');
  json_string (out, "level", levels[level], -1);
  json_string (out, "check", check, -1);
  json_string (out, "subject", subject, -1);
  json_string (out, "text", text, -1);
  json_end (out, '}');
}
