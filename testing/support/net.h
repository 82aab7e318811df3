/* Sockets for tests: numeric loopback addresses only, and big-endian numbers. */
#pragma once

#include <glib.h>
#include <netinet/in.h>

/* FALSE unless address is "a.b.c.d:port" inside 127.0.0.0/8. */
gboolean net_parse (const char *address, struct sockaddr_in *name);
/* A connected blocking socket, or -1. */
int net_connect (const char *address, int timeout_ms);
/* A listening non-blocking socket, or -1. Port 0 picks a free one and stores it in name. */
int net_listen (struct sockaddr_in *name);
/* Reads exactly length bytes unless the peer closes or the time runs out; returns the number
 * read. */
gsize net_read (int fd, void *buffer, gsize length, int timeout_ms);
/* Makes the next close() send RST, as a crashed peer or a firewall would. */
void net_reset_on_close (int fd);

void net_put_int32 (GByteArray *bytes, gint32 value);
void net_put_int64 (GByteArray *bytes, gint64 value);
void net_put_buffer (GByteArray *bytes, const void *data, gint32 length); /* length, then data */
gint32 net_get_int32 (const guint8 *at);
gint64 net_get_int64 (const guint8 *at);
