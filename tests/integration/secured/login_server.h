/* The true server of a login, inside the test and without threads: GnuTLS, and the server side of
 * Cyrus SASL. It says what comes next; the test sends that, or something else. */
#pragma once

#include <glib.h>
#include <gnutls/gnutls.h>
#include <sasl/sasl.h>

typedef enum
{
  LOGIN_NONE,
  LOGIN_DIGEST, /* DIGEST-MD5: ConnectResponse, challenge, rspauth */
  LOGIN_GSSAPI, /* Kerberos: ConnectResponse, the mutual answer, the offer of layers, an empty one */
  N_LOGINS
} LoginMechanism;

typedef enum
{
  LOGIN_CLEAR,
  LOGIN_TLS13,
  LOGIN_TLS12,
  N_LOGIN_CARRIERS
} LoginCarrier;

#define LOGIN_FLIGHTS 2 /* of the server in a TLS handshake */

/* The last message with which the server proves who it is. G_MAXUINT: none does. */
guint login_proof (LoginMechanism mechanism);
guint login_count (LoginMechanism mechanism);

/* Once in a process; directory has the server's certificate and keytab. */
void login_servers_start (const char *directory);
void login_servers_stop (void);

typedef struct
{
  int fd;
  LoginMechanism mechanism;
  gnutls_session_t tls; /* NULL: clear text */
  sasl_conn_t *sasl;
  gboolean is_shaken;
  gboolean ends; /* the connection does, after what is to be sent */
  guint flight;  /* the one that comes next */
  guint held;    /* this flight of TLS is kept: see login_server_take_flight(). G_MAXUINT: none */
  guint n_answers;
  GByteArray *flight_bytes;
  GByteArray *out; /* to the network, as it is */
  gsize sent;
  GByteArray *in; /* frames of the client */
} LoginServer;

/* Takes fd, which does not block. */
LoginServer *login_server_new (int fd, LoginMechanism mechanism, LoginCarrier carrier);
void login_server_free (LoginServer *server);

/* Reads and writes what is possible now. FALSE: the client has left. */
gboolean login_server_turn (LoginServer *server, gboolean *moved);
/* The bytes of the flight that was held; NULL: not there yet. */
GByteArray *login_server_take_flight (LoginServer *server);

/* The whole frame that the client has sent next, or NULL. */
GByteArray *login_server_take_frame (LoginServer *server);
/* The answer to that frame. */
GByteArray *login_server_answer (LoginServer *server, const GByteArray *frame);
/* Through TLS, where there is one. */
void login_server_send (LoginServer *server, const guint8 *bytes, gsize n);

/* read_only: -1 for a frame without it. */
GByteArray *login_response (gint64 session_id, gint32 timeout_ms, gint32 password_length,
                            int read_only);
GByteArray *login_sasl_reply (gint32 code, const void *token, gint32 length);
