/* A build without GnuTLS and Cyrus SASL: who asks for TLS or SASL is refused, and nothing is
 * connected. */
#include "channel/tls_credentials.h"
#include "curator/curator.h"
#include "curator/tls.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>

#include "support/suite.h"

static void
assert_unsupported (gboolean fine, GError **error)
{
  assert_false (fine);
  assert_true (g_error_matches (*error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED));
  print_message ("%s\n", (*error)->message);
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

/* The exit code; *err: what it has printed. */
static int
run_zkflock (const char *hosts, const char *const *options, char **err)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  int status = -1;

  g_ptr_array_add (argv, (gpointer) ZKFLOCK_NO_SECURITY);
  g_ptr_array_add (argv, (gpointer) "-Z");
  g_ptr_array_add (argv, (gpointer) hosts);
  for (; *options != NULL; options++)
    g_ptr_array_add (argv, (gpointer) *options);
  g_ptr_array_add (argv, (gpointer) "/p");
  g_ptr_array_add (argv, (gpointer) "true");
  g_ptr_array_add (argv, NULL);
  assert_true (g_spawn_sync (NULL, (char **) argv->pdata, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                             NULL, NULL, err, &status, &error));
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

TEST (zkflock_refuses)
{
  g_autofree char *secret = NULL;
  const int fd = g_file_open_tmp ("curator-secret-XXXXXX", &secret, NULL);
  g_autofree char *file = g_strconcat ("--sasl-password-file=", secret, NULL);
  const struct
  {
    const char *hosts;
    const char *options[4];
    const char *what;
  } cases[] = {
    { "tls://127.0.0.1:1", { NULL }, "TLS" },
    { "127.0.0.1:1", { "--tls-ca=/etc/ssl/certs/ca-certificates.crt" }, "TLS" },
    { "127.0.0.1:1", { "--tls-cert=/some.pem" }, "TLS" },
    { "127.0.0.1:1", { "--sasl=gssapi" }, "SASL" },
    { "127.0.0.1:1", { "--sasl=digest", "--sasl-user=user", file }, "SASL" },
  };

  assert_true (g_file_set_contents (secret, "password\n", -1, NULL));
  g_close (fd, NULL);
  assert_int_equal (g_chmod (secret, 0600), 0);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *err = NULL;
      g_autofree char *wanted =
          g_strdup_printf ("zkflock: /p: curator was built without %s\n", cases[i].what);
      assert_int_equal (run_zkflock (cases[i].hosts, cases[i].options, &err), 64);
      assert_string_equal (err, wanted);
    }
  g_unlink (secret);
}

SUITE ("no_security", NULL, NULL)
