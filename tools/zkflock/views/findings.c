/* The findings of doctor: collected by its checks, then printed. */
#include "views/findings.h"

#include "base/json.h"

#include <stdio.h>

typedef struct
{
  Level level;
  const char *check;
  char *subject;
  char *text;
} Finding;

static const char *const level_names[] = { "note", "warning", "problem" };

static void
free_finding (gpointer data)
{
  Finding *finding = data;
  g_free (finding->subject);
  g_free (finding->text);
  g_free (finding);
}

GPtrArray *
findings_new (void)
{
  return g_ptr_array_new_with_free_func (free_finding);
}

void
doctor_report (Doctor *doctor, Level level, const char *check, const char *subject,
               const char *format, ...)
{
  Finding *finding = g_new (Finding, 1);
  va_list args;

  va_start (args, format);
  *finding = (Finding){ .level = level,
                        .check = check,
                        .subject = g_strdup (subject),
                        .text = g_strdup_vprintf (format, args) };
  va_end (args);
  g_ptr_array_add (doctor->findings, finding);
}

void
findings_print (const Doctor *doctor)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (doctor->options->json)
    json_begin (out, NULL, '[');
  for (guint i = 0; i < doctor->findings->len; i++)
    {
      const Finding *finding = g_ptr_array_index (doctor->findings, i);
      if (doctor->options->json)
        {
          json_begin (out, NULL, '{');
          json_string (out, "level", level_names[finding->level], -1);
          json_string (out, "check", finding->check, -1);
          json_string (out, "subject", finding->subject, -1);
          json_string (out, "text", finding->text, -1);
          json_end (out, '}');
        }
      else
        {
          g_string_append_printf (out, "%s: %s: %s\n", level_names[finding->level],
                                  finding->subject, finding->text);
        }
    }
  if (doctor->options->json)
    {
      json_end (out, ']');
      g_string_append_c (out, '\n');
    }
  fputs (out->str, stdout);
}

gboolean
findings_has_problem (const Doctor *doctor)
{
  for (guint i = 0; i < doctor->findings->len; i++)
    {
      if (((Finding *) g_ptr_array_index (doctor->findings, i))->level != LEVEL_NOTE)
        return TRUE;
    }
  return FALSE;
}
