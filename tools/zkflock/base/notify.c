/* systemd's notification protocol, sd_notify(3). Does nothing without NOTIFY_SOCKET. */
#include "base/notify.h"

#include "base/outlet.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *
socket_name (void)
{
  const char *name = g_getenv ("NOTIFY_SOCKET");
  return name != NULL && (*name == '/' || *name == '@') && name[1] != '\0' ? name : NULL;
}

gboolean
notify_is_wanted (void)
{
  return socket_name () != NULL;
}

static int
write_state (const char *state)
{
  const char *name = socket_name ();
  struct sockaddr_un address = { .sun_family = AF_UNIX };

  if (name == NULL || strlen (name) >= sizeof address.sun_path)
    return 0;
  memcpy (address.sun_path, name, strlen (name));
  if (*name == '@')
    address.sun_path[0] = '\0';
  const int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    /* A notification is best effort: no failure here matters to the lock. */
    (void) !sendto (fd, state, strlen (state), MSG_NOSIGNAL, (struct sockaddr *) &address,
                    (socklen_t) (offsetof (struct sockaddr_un, sun_path) + strlen (name)));
    close (fd);
  }
  return 0;
}

static Outlet outlet = { .write = write_state };

void
notify_open (void)
{
  if (notify_is_wanted ())
    outlet_open (&outlet);
}

void
notify_send (const char *state)
{
  if (notify_is_wanted ())
    outlet_send (&outlet, g_strdup (state));
}

void
notify_status (const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *state = g_strconcat ("STATUS=", text, NULL);
  notify_send (state);
}

static gboolean
on_watchdog (gpointer data)
{
  notify_send ("WATCHDOG=1");
  return G_SOURCE_CONTINUE;
}

void
notify_watchdog (void)
{
  const char *pid = g_getenv ("WATCHDOG_PID");
  const char *usec = g_getenv ("WATCHDOG_USEC");
  gint64 period_us;

  if (!notify_is_wanted () || usec == NULL
      || !g_ascii_string_to_signed (usec, 10, 1, G_MAXINT64, &period_us, NULL)
      || (pid != NULL && g_ascii_strtoll (pid, NULL, 10) != getpid ()))
    return;
  /* Half the watchdog period, as sd_watchdog_enabled(3) advises. */
  g_timeout_add ((guint) CLAMP (period_us / 2000, 1, G_MAXINT), on_watchdog, NULL);
  notify_send ("WATCHDOG=1");
}
