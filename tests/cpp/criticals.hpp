/* Critical messages of the library, which the tests' environment makes fatal, as something to
 * expect. */
#pragma once

#include <atomic>
#include <glib.h>

/* Counts critical messages and makes them not fatal while it lives. */
class criticals
{
public:
  criticals ()
      : fatal_ (g_log_set_always_fatal (static_cast<GLogLevelFlags> (G_LOG_FATAL_MASK))), count_ (0)
  {
    g_log_set_default_handler (note, this);
  }

  ~criticals ()
  {
    g_log_set_default_handler (g_log_default_handler, nullptr);
    g_log_set_always_fatal (fatal_);
  }

  int count () const { return count_; }

private:
  static void note (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
  {
    if ((level & G_LOG_LEVEL_CRITICAL) != 0) {
      if (g_strcmp0 (domain, "curator") != 0)
        g_error ("a critical message of %s: %s", domain, message);
      static_cast<criticals *> (data)->count_++;
    } else {
      g_log_default_handler (domain, level, message, nullptr);
    }
  }

  GLogLevelFlags fatal_;
  std::atomic<int> count_;
};
