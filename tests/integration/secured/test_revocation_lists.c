/* Lists of revoked certificates, enumerated: who has signed them, when they are current, what they
 * revoke, one or two in a file, for a server and for its intermediate CA; when they are loaded, at
 * a later handshake, and when the file is replaced under a living client. Trusted certificates,
 * enumerated: what they say that they are, and for whom they vouch. The server is GnuTLS's.
 *
 * The clock is the test's: time() is defined here.
 */
#include "list_makers.h"
#include "secured.h"

#include "channel/channel_tls.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DAY  (24 * 3600)
#define HOST "zk.test"

static gint clock_offset_s; /* atomic: channels' threads read it */

/* In the place of libc's; GnuTLS is told. */
time_t
time (time_t *into)
{
  const time_t now =
      (time_t) (g_get_real_time () / G_USEC_PER_SEC) + g_atomic_int_get (&clock_offset_s);
  if (into != NULL)
    *into = now;
  return now;
}

/* --- what is enumerated ----------------------------------------------------------------------- */

typedef enum
{
  BY_ISSUER,
  BY_FORGER,   /* under the issuer's name */
  BY_STRANGER, /* a CA that the client does not trust */
  BY_MUTE,     /* a CA that the client trusts, and which may not sign lists */
  N_SIGNERS
} Signer;

typedef enum
{
  IS_CURRENT,
  IS_PAST,
  IS_EARLY,
  IS_ENDLESS,
  N_WINDOWS
} Window;

typedef struct
{
  Signer signer;
  Window window;
  gboolean revokes;
} List;

#define N_LISTS (N_SIGNERS * N_WINDOWS * 2)

static List
list_of (guint i)
{
  return (List){ (Signer) (i / (N_WINDOWS * 2)), (Window) (i / 2 % N_WINDOWS), i % 2 == 1 };
}

/* Who stands between the client's trust and the server, and what the server shows. */
typedef enum
{
  DIRECT,        /* the root has signed the server's certificate */
  SENT,          /* an intermediate CA; the server shows it */
  TRUSTED,       /* the client trusts it, too */
  TRUSTED_ALONE, /* and the server does not show it */
  N_CHAINS
} Chain;

static struct
{
  const char *ca_file;
  const char *crl_file;
  Party root;
  Party middle;
  Party mute;
  Party stranger;
  Party forger[2]; /* of the root's name, and of the intermediate's */
  Party server[2]; /* of the root, and of the intermediate CA */
  time_t begin[N_WINDOWS];
  time_t end[N_WINDOWS];
  guint n_cells;
} world;

typedef struct
{
  Chain chain;
  gboolean
      is_of_server; /* the lists are about the server's certificate; otherwise the intermediate's */
  char *pems[N_LISTS];
} Subject;

static const Party *
issuer_of (const Subject *subject)
{
  return subject->is_of_server && subject->chain != DIRECT ? &world.middle : &world.root;
}

static gboolean
is_trusted (const Subject *subject)
{
  return issuer_of (subject) == &world.root || subject->chain >= TRUSTED;
}

static const char *
name_of (const Subject *subject, Signer signer)
{
  return signer == BY_STRANGER                ? "CN=stranger"
         : signer == BY_MUTE                  ? "CN=mute"
         : issuer_of (subject) == &world.root ? "CN=root"
                                              : "CN=middle";
}

static void
make_pems (Subject *subject)
{
  const gboolean of_root = issuer_of (subject) == &world.root;
  const Party *const signers[N_SIGNERS] = { issuer_of (subject), &world.forger[of_root ? 0 : 1],
                                            &world.stranger, &world.mute };
  const Party *revoked =
      subject->is_of_server ? &world.server[subject->chain == DIRECT ? 0 : 1] : &world.middle;
  for (guint i = 0; i < N_LISTS; i++) {
    const List list = list_of (i);
    subject->pems[i] = make_list (signers[list.signer], list.revokes ? revoked : NULL,
                                  world.begin[list.window], world.end[list.window]);
  }
}

/* --- what must be ----------------------------------------------------------------------------- */

static char *
expected_objection (const Subject *subject, const List *lists, guint n)
{
  for (guint i = 0; i < n; i++) {
    const char *name = name_of (subject, lists[i].signer);
    if (lists[i].window == IS_ENDLESS)
      return g_strdup_printf ("\"%s\" has no date of its next update", name);
    if (lists[i].window != IS_CURRENT) {
      const gboolean past = lists[i].window == IS_PAST;
      g_autoptr (GDateTime) date =
          g_date_time_new_from_unix_utc ((past ? world.end : world.begin)[lists[i].window]);
      g_autofree char *shown = g_date_time_format (date, "%Y-%m-%d %H:%M:%SZ");
      return g_strdup_printf ("\"%s\" %s %s", name,
                              past ? "was to be renewed by" : "is not valid before", shown);
    }
  }
  for (guint i = 0; i < n; i++)
    if (lists[i].signer != BY_ISSUER || !is_trusted (subject))
      return g_strdup_printf ("\"%s\" is not signed by", name_of (subject, lists[i].signer));
  return NULL;
}

static void
fail_cell (const Subject *subject, const List *lists, guint n, const char *what, const char *got)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, " [signer %d, window %d, %s]", lists[i].signer, lists[i].window,
                            lists[i].revokes ? "revokes" : "empty");
  fail_msg ("chain %d, of the %s,%s: %s; got \"%s\"", subject->chain,
            subject->is_of_server ? "server" : "intermediate", text->str, what, got);
}

/* --- a handshake ------------------------------------------------------------------------------ */

/* The client's error; NULL: it has connected. The server must see the same. with: NULL, or what it
 * shows besides. */
static char *
shake_hands (const Party *shown, const Party *with, CuratorTlsCredentials *credentials)
{
  gnutls_x509_crt_t certificates[] = { shown->certificate,
                                       with != NULL ? with->certificate : NULL };
  gnutls_certificate_credentials_t own;
  g_autoptr (GError) error = NULL;
  int fds[2];
  int server_rc = GNUTLS_E_AGAIN;
  int client_rc = 0;

  assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  gnutls_certificate_allocate_credentials (&own);
  assert_true (gnutls_certificate_set_x509_key (own, certificates, with != NULL ? 2 : 1, shown->key)
               >= 0);
  gnutls_session_t server;
  gnutls_init (&server, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
  gnutls_set_default_priority (server);
  gnutls_credentials_set (server, GNUTLS_CRD_CERTIFICATE, own);
  gnutls_transport_set_int (server, fds[1]);
  CuratorTlsSession *client = curator_tls_session_new (fds[0], HOST, credentials, TRUE, &error);
  assert_non_null (client);
  while (client_rc == 0) {
    client_rc = curator_tls_session_shake (client, &error);
    if (server_rc != 0)
      server_rc = gnutls_handshake (server);
  }
  for (int i = 0; i < 3 && server_rc != 0 && !gnutls_error_is_fatal (server_rc); i++)
    server_rc = gnutls_handshake (server);
  assert_int_equal (client_rc > 0, server_rc == 0);
  assert_true (
      client_rc > 0
      || g_error_matches (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED));
  curator_tls_session_free (client);
  gnutls_deinit (server);
  gnutls_certificate_free_credentials (own);
  close (fds[0]);
  close (fds[1]);
  return error != NULL ? g_strdup (error->message) : NULL;
}

/* NULL text: it must connect. */
static void
check_handshake (const Subject *subject, const List *lists, guint n,
                 CuratorTlsCredentials *credentials, const char *text)
{
  const gboolean two = subject->chain == SENT || subject->chain == TRUSTED;
  g_autofree char *why = shake_hands (&world.server[subject->chain == DIRECT ? 0 : 1],
                                      two ? &world.middle : NULL, credentials);
  const gboolean good = text == NULL ? why == NULL : why != NULL && strstr (why, text) != NULL;

  world.n_cells++;
  if (!good)
    fail_cell (subject, lists, n, text != NULL ? text : "must connect", why);
}

/* --- the cells -------------------------------------------------------------------------------- */

static void
write_lists (const Subject *subject, const guint *which, guint n)
{
  g_autofree char *text =
      g_strconcat (subject->pems[which[0]], n > 1 ? subject->pems[which[1]] : NULL, NULL);
  assert_true (g_file_set_contents (world.crl_file, text, -1, NULL));
}

static CuratorTls *
settings_of (const Subject *subject)
{
  g_autoptr (GError) error = NULL;
  CuratorTls *tls = curator_tls_new ();
  g_autofree char *root = party_to_pem (&world.root);
  g_autofree char *mute = party_to_pem (&world.mute);
  g_autofree char *middle = party_to_pem (&world.middle);
  g_autofree char *cas = g_strconcat (root, mute, subject->chain >= TRUSTED ? middle : NULL, NULL);
  assert_true (g_file_set_contents (world.ca_file, cas, -1, NULL));
  assert_ok (curator_tls_set_ca_file (tls, world.ca_file, &error), &error);
  return tls;
}

static const char *
verdict_of (const Subject *subject, gboolean revoked)
{
  /* GnuTLS says it for a CA that it has been told to distrust. */
  return !revoked                                          ? NULL
         : subject->is_of_server || subject->chain == SENT ? "revoked"
                                                           : "not valid for";
}

static void
check_later (const Subject *subject, const List *lists, guint n, CuratorTlsCredentials *credentials,
             const char *verdict)
{
  const time_t now = (time_t) (g_get_real_time () / G_USEC_PER_SEC);
  const char *name = name_of (subject, BY_ISSUER);
  g_autofree char *late =
      g_strdup_printf ("%s: the list of \"%s\" was to be renewed by", world.crl_file, name);
  g_autofree char *early =
      g_strdup_printf ("%s: the list of \"%s\" is not valid before", world.crl_file, name);
  const struct
  {
    time_t at;
    const char *text;
  } times[] = { { world.end[IS_CURRENT] + 1, late },      { world.end[IS_CURRENT] - 600, verdict },
                { world.end[IS_CURRENT] + DAY, late },    { world.begin[IS_CURRENT] - 600, early },
                { world.begin[IS_CURRENT] + 1, verdict }, { now, verdict } };

  for (gsize i = 0; i < G_N_ELEMENTS (times); i++) {
    g_atomic_int_set (&clock_offset_s, (gint) (times[i].at - now));
    check_handshake (subject, lists, n, credentials, times[i].text);
  }
  g_atomic_int_set (&clock_offset_s, 0);
}

/* Whatever replaces the file: what is good is used; otherwise the old lists judge, until they are
 * old. */
static void
check_replaced (const Subject *subject, CuratorTls *tls, gboolean old_revokes)
{
  g_autoptr (GError) error = NULL;
  const guint old[] = { old_revokes ? 1 : 0 };
  const List old_list = list_of (old[0]);

  for (guint i = 0; i < N_LISTS; i++) {
    g_autoptr (CuratorTlsCredentials) credentials = NULL;
    const List list = list_of (i);
    g_autofree char *objection = expected_objection (subject, &list, 1);
    write_lists (subject, old, 1);
    assert_ok (curator_tls_credentials_refresh (&credentials, tls, &error), &error);
    write_lists (subject, &i, 1);
    if (curator_tls_credentials_refresh (&credentials, tls, &error) != (objection == NULL))
      fail_cell (subject, &list, 1, "another answer when it replaces the file", "");
    g_clear_error (&error);
    const gboolean revoked = objection == NULL ? list.revokes : old_list.revokes;
    check_later (subject, &list, 1, credentials, verdict_of (subject, revoked));
  }
}

static void
check_file (const Subject *subject, CuratorTls *tls, const guint *which, guint n)
{
  const List lists[] = { list_of (which[0]), list_of (which[n - 1]) };
  g_autofree char *objection = expected_objection (subject, lists, n);
  g_autoptr (GError) error = NULL;
  const gboolean are_current = lists[0].window == IS_CURRENT && lists[n - 1].window == IS_CURRENT;

  write_lists (subject, which, n);
  /* The setter does not know the CAs yet. */
  if (curator_tls_set_crl_file (tls, world.crl_file, &error) != are_current
      || (error != NULL
          && (!g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT)
              || strstr (error->message, objection) == NULL)))
    fail_cell (subject, lists, n, "another answer when it is set",
               error != NULL ? error->message : "no error");
  g_clear_error (&error);
  /* Where it was refused, the file that was set has changed since. */
  g_autoptr (CuratorTlsCredentials) credentials = curator_tls_credentials_load (tls, &error);
  world.n_cells++;
  if ((credentials != NULL) != (objection == NULL)
      || (error != NULL
          && (strstr (error->message, objection) == NULL
              || !g_str_has_prefix (error->message, world.crl_file))))
    fail_cell (subject, lists, n, objection, error != NULL ? error->message : "no error");
  const gboolean revoked = lists[0].revokes || lists[n - 1].revokes;
  if (credentials != NULL)
    check_later (subject, lists, n, credentials, verdict_of (subject, revoked));
}

static void
check_no_lists (CuratorTls *tls)
{
  g_autofree char *certificate = party_to_pem (&world.root);
  const char *const texts[] = { "", "no list\n", certificate };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (GError) error = NULL;
    assert_true (g_file_set_contents (world.crl_file, texts[i], -1, NULL));
    assert_false (curator_tls_set_crl_file (tls, world.crl_file, &error));
    assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  }
}

static void
check_subject (Subject *subject)
{
  g_autoptr (CuratorTls) tls = settings_of (subject);
  g_autoptr (GError) error = NULL;
  const guint current = 0;

  make_pems (subject);
  write_lists (subject, &current, 1);
  assert_ok (curator_tls_set_crl_file (tls, world.crl_file, &error), &error);
  for (guint i = 0; i < N_LISTS; i++) {
    check_file (subject, tls, &i, 1);
    for (guint j = 0; j < N_LISTS; j++) {
      const guint pair[] = { i, j };
      check_file (subject, tls, pair, 2);
    }
  }
  for (gboolean revokes = FALSE; is_trusted (subject) && revokes <= TRUE; revokes++)
    check_replaced (subject, tls, revokes);
  check_no_lists (tls);
  for (guint i = 0; i < N_LISTS; i++)
    g_free (subject->pems[i]);
}

TEST (test_every_list)
{
  for (Chain chain = DIRECT; chain < N_CHAINS; chain++) {
    for (gboolean is_of_server = chain == DIRECT; is_of_server <= TRUE; is_of_server++) {
      Subject subject = { .chain = chain, .is_of_server = is_of_server };
      check_subject (&subject);
    }
  }
  print_message ("%u cells\n", world.n_cells);
  assert_true (world.n_cells > 3000);
}

/* --- whom a trusted certificate vouches for ---------------------------------------------------- */

/* What a trusted certificate says about itself, and what Java and OpenSSL make of it: whether those
 * that it has signed are believed. It is itself, if it has a name. */
static const struct
{
  const char *name;
  int version;
  int basic_constraints; /* -1: none */
  gboolean vouches;
} kinds[] = {
  { "CA:TRUE", 3, 1, TRUE },
  { "CA:FALSE", 3, 0, FALSE },
  { "version 3", 3, -1, FALSE },
  { "version 1", 1, -1, TRUE },
};

static gboolean
openssl_believes (const char *directory, const Party *shown, const Party *with)
{
  g_autofree char *pem = party_to_pem (shown);
  g_autofree char *more = with != NULL ? party_to_pem (with) : NULL;
  g_autofree char *leaf = g_build_filename (directory, "leaf.pem", NULL);
  g_autofree char *chain = g_build_filename (directory, "chain.pem", NULL);
  const char *const argv[] = { "openssl",
                               "verify",
                               "-purpose",
                               "sslserver",
                               "-CAfile",
                               world.ca_file,
                               with != NULL ? "-untrusted" : leaf,
                               with != NULL ? chain : NULL,
                               leaf,
                               NULL };
  int status;

  assert_true (g_file_set_contents (leaf, pem, -1, NULL));
  assert_true (with == NULL || g_file_set_contents (chain, more, -1, NULL));
  assert_true (
      g_spawn_sync (NULL, (char **) argv, NULL,
                    G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
                    NULL, NULL, NULL, NULL, &status, NULL));
  return status == 0;
}

static void
check_anchor (Secured *secured, gsize kind, const Party *anchor, gboolean beside_others)
{
  g_autofree char *name = g_strdup_printf ("of %s", kinds[kind].name);
  Party issued = party_new ("issued", anchor, 0);
  Party forged = party_new_as (name, NULL, 3, 0);
  const struct
  {
    const char *what;
    const Party *shown;
    const Party *with;
    gboolean good;
  } rows[] = {
    { "serves itself", anchor, NULL, TRUE },
    { "has signed another's", &issued, NULL, kinds[kind].vouches },
    { "has signed another's, and is shown", &issued, anchor, kinds[kind].vouches },
    { "is imitated", &forged, NULL, FALSE },
    { "is imitated, and is shown", &forged, anchor, FALSE },
  };
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *pem = party_to_pem (anchor);
  g_autofree char *root = party_to_pem (&world.root);
  g_autofree char *cas = g_strconcat (beside_others ? root : "", pem, NULL);

  assert_true (g_file_set_contents (world.ca_file, cas, -1, NULL));
  assert_ok (curator_tls_set_ca_file (tls, world.ca_file, &error), &error);
  g_autoptr (CuratorTlsCredentials) credentials = curator_tls_credentials_load (tls, &error);
  assert_ok (credentials != NULL, &error);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    const gboolean has_name = rows[i].shown != anchor || kinds[kind].version > 1;
    g_autofree char *why = shake_hands (rows[i].shown, rows[i].with, credentials);
    const gboolean by_openssl = openssl_believes (secured->directory, rows[i].shown, rows[i].with);
    if ((why == NULL) != (rows[i].good && has_name) || by_openssl != rows[i].good)
      fail_msg ("%s %s%s: %s; OpenSSL says %d", kinds[kind].name, rows[i].what,
                beside_others ? " beside a CA" : "", why, by_openssl);
  }
  party_clear (&issued);
  party_clear (&forged);
}

TEST (test_every_anchor)
{
  for (gsize kind = 0; kind < G_N_ELEMENTS (kinds); kind++) {
    g_autofree char *name = g_strdup_printf ("of %s", kinds[kind].name);
    Party anchor = party_new_as (name, NULL, kinds[kind].version, kinds[kind].basic_constraints);
    check_anchor (secured, kind, &anchor, FALSE);
    check_anchor (secured, kind, &anchor, TRUE);
    party_clear (&anchor);
  }
}

/* --- a living client -------------------------------------------------------------------------- */

/* Its connection stays; the next one is made when there is a current list again. */
TEST (test_a_list_grows_old)
{
  g_autoptr (CuratorTls) tls = secured_tls (secured);
  g_autoptr (GError) error = NULL;
  Party ca = party_new_from (secured_file (secured, "ca.pem"), secured_file (secured, "ca.key"));
  const time_t now = time (NULL);
  g_autofree char *old = make_list (&ca, NULL, now - 60, now + DAY);
  g_autofree char *renewed = make_list (&ca, NULL, now - 60, now + 3 * DAY);

  assert_true (g_file_set_contents (world.crl_file, old, -1, NULL));
  assert_ok (curator_tls_set_crl_file (tls, world.crl_file, &error), &error);
  g_autoptr (CuratorClient) client = secured_client (secured->proxied, tls);
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  g_atomic_int_set (&clock_offset_s, DAY + 3600);
  proxy_cut (secured->proxy);
  assert_true (secured_wait_failed (client, CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED));
  g_autoptr (GError) failure = curator_client_dup_connection_error (client);
  assert_non_null (failure);
  print_message ("%s\n", failure->message);
  assert_non_null (strstr (failure->message, world.crl_file));
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_RECONNECTED), 0);
  assert_true (g_file_set_contents (world.crl_file, renewed, -1, NULL));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  g_atomic_int_set (&clock_offset_s, 0);
  party_clear (&ca);
}

static int
start (void **state)
{
  const unsigned signs = GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN;
  const time_t now = time (NULL);

  if (secured_start (state) != 0)
    return -1;
  gnutls_global_set_time_function (time);
  world.ca_file = secured_file (*state, "cas-of-lists.pem");
  world.crl_file = secured_file (*state, "lists.pem");
  world.root = party_new ("root", NULL, signs);
  world.middle = party_new ("middle", &world.root, signs);
  world.mute = party_new ("mute", NULL, GNUTLS_KEY_KEY_CERT_SIGN);
  world.stranger = party_new ("stranger", NULL, signs);
  world.forger[0] = party_new ("root", NULL, signs);
  world.forger[1] = party_new ("middle", NULL, signs);
  world.server[0] = party_new ("server", &world.root, 0);
  world.server[1] = party_new ("server", &world.middle, 0);
  const time_t begin[N_WINDOWS] = { now - DAY, now - 2 * DAY, now + DAY, now - DAY };
  const time_t end[N_WINDOWS] = { now + DAY, now - DAY, now + 2 * DAY, -1 };
  memcpy (world.begin, begin, sizeof begin);
  memcpy (world.end, end, sizeof end);
  return 0;
}

static int
stop (void **state)
{
  Party *const parties[] = {
    &world.root,      &world.middle,    &world.mute,      &world.stranger,
    &world.forger[0], &world.forger[1], &world.server[0], &world.server[1]
  };
  for (gsize i = 0; i < G_N_ELEMENTS (parties); i++)
    party_clear (parties[i]);
  return secured_stop (state);
}

SUITE ("revocation_lists", start, stop)
