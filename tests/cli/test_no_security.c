/* A build without GnuTLS and Cyrus SASL: who asks for TLS or SASL is refused, and nothing is
 * connected. */
#define SUITE_FIXTURE void *no_fixture
#define SUITE_SETUP   NULL
#include "cli.h"

#include "channel/tls_credentials.h"
#include "curator/curator.h"
#include "curator/tls.h"

static void
assert_unsupported (gboolean fine, GError **error)
{
  assert_false (fine);
  assert_true (g_error_matches (*error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED));
  g_clear_error (error);
}

TEST (the_library_refuses)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (CuratorClient) client = curator_client_new ("127.0.0.1:1", NULL);
  g_autoptr (CuratorClient) by_scheme = curator_client_new ("tls://127.0.0.1:1", NULL);

  assert_false (curator_tls_is_built_in ());
  assert_unsupported (curator_client_set_tls (client, tls, &error), &error);
  assert_unsupported (curator_client_set_sasl_digest (client, "user", "password", &error), &error);
  assert_unsupported (curator_client_set_sasl_gssapi (client, NULL, NULL, &error), &error);
  assert_unsupported (curator_client_start (by_scheme, &error), &error);
  /* Without a request for TLS all is as usual. */
  assert_true (curator_client_start (client, &error));
  curator_client_close (client);
}

TEST (zkflock_refuses)
{
  LOG secret = cli_write_file ("password\n", -1, 0600);
  g_autofree char *file = g_strconcat ("--sasl-password-file=", secret, NULL);
  const struct
  {
    const char *hosts;
    const char *options[3];
    const char *what;
  } cases[] = {
    { "tls://127.0.0.1:1", { NULL }, "TLS" },
    { "127.0.0.1:1", { "--tls-ca=/etc/ssl/certs/ca-certificates.crt" }, "TLS" },
    { "127.0.0.1:1", { "--tls-cert=/some.pem" }, "TLS" },
    { "127.0.0.1:1", { "--tls-server-name=one" }, "TLS" },
    { "127.0.0.1:1", { "--sasl=gssapi" }, "SASL" },
    { "127.0.0.1:1", { "--sasl=digest", "--sasl-user=user", file }, "SASL" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    const char *const *options = cases[i].options;
    g_autofree char *wanted =
        g_strdup_printf ("zkflock: /p: curator was built without %s\n", cases[i].what);
    cli_run_to_line (64, wanted,
                     CLI_WORDS (ZKFLOCK_NO_SECURITY, "-Z", cases[i].hosts, options[0], options[1],
                                options[2], "/p", "true"));
  }
}

SUITE ("no_security", NULL, NULL)
