/* zkflock over TLS and SASL: each verb with what the servers accept and with what they refuse. A
 * refusal has its exit code and its cause, and no command runs without the lock. */
#define SUITE_FIXTURE Servers *servers
#define SUITE_SETUP   NULL
#include "cli.h"

#include "integration/secured/realm.h"
#include "integration/secured/secured.h"

#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WORDS 10
#define N_AT_ONCE 3
#define STRANGER  65534 /* a user */
#define TLS       "--tls-ca=%ca.pem"
#define OWN       "--tls-cert=%client.pem", "--tls-key=%client.key"
#define DIGEST    "--sasl=digest", "--sasl-user=" SASL_USER
#define PRINCIPAL "--sasl-server-principal=zookeeper/" REALM_SERVER_NAME
#define NO_TICKET "KRB5CCNAME=%no-tickets"
typedef enum
{
  TO_SECURE,   /* the port with TLS */
  TO_CLEAR,    /* the port in clear text of the same server, which knows DIGEST-MD5 */
  TO_KERBEROS, /* a server that knows GSSAPI */
  TO_EXPIRED,
  TO_SILENT,
  TO_UNTOUCHED, /* where nobody connects */
  N_TARGETS
} Target;

typedef struct
{
  Secured *secured;
  Realm *realm;
  char *addresses[N_TARGETS];
  Cli *expired;
  int silent_fd;
  int untouched_fd;
  GPtrArray *waiting; /* trials of the cases that wait, which go on beside the others */
} Servers;

/* "%name" in a word is a file of the Secured. Words without "--" in front are set in the
 * environment. */
typedef struct
{
  const char *name;
  Target target;
  const char *words[MAX_WORDS];
  int code;          /* 0: connects */
  const char *cause; /* in the only line of standard error */
  gboolean waits;    /* for the whole connect timeout: nobody has refused for good */
} Case;

static const Case cases[] = {
  { "TLS", TO_SECURE, { TLS, OWN } },
  { "TLS by the environment",
    TO_SECURE,
    { "ZKFLOCK_TLS_CA=%ca.pem", "ZKFLOCK_TLS_CERT=%client.pem", "ZKFLOCK_TLS_KEY=%client.key" } },
  { "the name of all certificates", TO_SECURE, { TLS, OWN, "--tls-server-name=zk.test" } },
  { "encrypted key",
    TO_SECURE,
    { TLS, "--tls-cert=%client.pem", "--tls-key=%client-encrypted.key",
      "--tls-key-password-file=%key-password" } },
  { "digest", TO_CLEAR, { DIGEST, "--sasl-password-file=%password" } },
  { "digest by the environment",
    TO_CLEAR,
    { "ZKFLOCK_SASL=digest", "ZKFLOCK_SASL_USER=" SASL_USER,
      "ZKFLOCK_SASL_PASSWORD_FILE=%password" } },
  { "digest in TLS", TO_SECURE, { TLS, OWN, DIGEST, "--sasl-password-file=%password" } },
  { "gssapi", TO_KERBEROS, { "--sasl=gssapi", PRINCIPAL } },

  { "wrong name",
    TO_SECURE,
    { TLS, OWN, "--tls-server-name=wrong.test" },
    76,
    "is not valid for \"wrong.test\"" },
  { "unknown CA", TO_SECURE, { "--tls-ca=%foreign-ca.pem", OWN }, 76, "The certificate issuer" },
  { "the system's CAs", TO_SECURE, { "--tls-server-name=zk.test" }, 76, "The certificate issuer" },
  { "expired", TO_EXPIRED, { TLS, OWN }, 76, "expired" },
  { "no client certificate", TO_SECURE, { TLS }, 76, "wants a certificate" },
  { "foreign client certificate",
    TO_SECURE,
    { TLS, "--tls-cert=%foreign.pem", "--tls-key=%foreign.key" },
    76,
    "none that it would accept" },
  { "TLS to the port in clear text", TO_CLEAR, { TLS, OWN }, 76, "TLS" },
  { "wrong password", TO_CLEAR, { DIGEST, "--sasl-password-file=%wrong" }, 77, "refused the" },
  { "wrong password in TLS",
    TO_SECURE,
    { TLS, OWN, DIGEST, "--sasl-password-file=%wrong" },
    77,
    "refused the" },
  { "TLS to a silent server", TO_SILENT, { TLS, OWN }, 69, "does not answer", TRUE },
  { "clear text to the port with TLS", TO_SECURE, { NULL }, 69, "expects TLS: write tls://", TRUE },
  { "no ticket", TO_KERBEROS, { NO_TICKET, "--sasl=gssapi", PRINCIPAL }, 77, "SASL GSSAPI", TRUE },
  { "unknown principal",
    TO_KERBEROS,
    { "--sasl=gssapi", "--sasl-server-principal=other/zk.test" },
    77,
    "SASL GSSAPI",
    TRUE },
  { "SASL to a silent server",
    TO_SILENT,
    { DIGEST, "--sasl-password-file=%password" },
    69,
    "does not answer",
    TRUE },
};

/* What zkflock is asked to do. */
static const struct
{
  const char *words[8];
  int code; /* when it connects; the locks are free */
  gboolean runs;
  gboolean only_first; /* connects as another one does: in the first case of all */
} verbs[] = {
  { { "/p/lock", COMMAND ("turn"), "0" }, 0, TRUE, FALSE },
  { { "-n", "-E", "0", "/p/try", COMMAND ("turn"), "0" }, 0, TRUE, FALSE },
  { { "-s", "/p/read", COMMAND ("turn"), "0" }, 0, TRUE, TRUE },
  { { "-x", "/p/write", COMMAND ("turn"), "0" }, 0, TRUE, TRUE },
  { { "-N", "2", "/p/semaphore", COMMAND ("turn"), "0" }, 0, TRUE, TRUE },
  { { "--multi=/p/a", "/p/b", COMMAND ("turn"), "0" }, 0, TRUE, TRUE },
  { { "/p/hold" }, 0, FALSE, FALSE },
  { { "who", "/p/who" }, 3, FALSE, FALSE },
  { { "tree", "/none" }, 0, FALSE, FALSE },
  { { "top", "--iterations=1", "/none" }, 0, FALSE, FALSE },
  { { "reap", "-y", "/none" }, 0, FALSE, FALSE },
  { { "revoke", "/none" }, 1, FALSE, FALSE },
  /* Certificates that expire soon, the clear text, or servers that do not require SASL. */
  { { "doctor", "/none" }, 1, FALSE, FALSE },
};

static void
write_file (const char *directory, const char *name, const char *text, int mode)
{
  g_autofree char *file = g_build_filename (directory, name, NULL);
  assert_true (g_file_set_contents (file, text, -1, NULL));
  assert_int_equal (g_chmod (file, mode), 0);
}

static Cli *
start_expired (Servers *servers)
{
  Secured *secured = servers->secured;
  const char *pem = secured_file (secured, "expired.pem");

  servers->addresses[TO_EXPIRED] =
      g_strdup_printf ("%s:%d", secured->host, zk_server_free_port (secured->host));
  return cli_start ("/usr/bin/env", "openssl", "s_server", "-quiet", "-accept",
                    servers->addresses[TO_EXPIRED], "-cert", pem, "-key", pem);
}

static int
start (void **state)
{
  Servers *servers = g_new0 (Servers, 1);

  *state = servers;
  if (realm_start ((void **) &servers->realm) != 0 || !realm_log_in (servers->realm)
      || secured_start ((void **) &servers->secured) != 0)
    return -1;
  Secured *secured = servers->secured;
  write_file (secured->directory, "password", SASL_PASSWORD "\n", 0600);
  write_file (secured->directory, "wrong", "not the password\n", 0600);
  write_file (secured->directory, "key-password", KEY_PASSWORD "\n", 0600);
  servers->addresses[TO_SECURE] = g_strdup (secured->address);
  servers->addresses[TO_CLEAR] = g_strdup (zk_server_address (secured->server));
  servers->addresses[TO_KERBEROS] = g_strdup (zk_server_address (servers->realm->server));
  servers->expired = start_expired (servers);
  servers->silent_fd = cli_listen (&servers->addresses[TO_SILENT]);
  servers->untouched_fd = cli_listen (&servers->addresses[TO_UNTOUCHED]);
  return 0;
}

static int
stop (void **state)
{
  Servers *servers = *state;

  g_clear_pointer (&servers->waiting, g_ptr_array_unref);
  close (servers->silent_fd);
  close (servers->untouched_fd);
  cli_free (servers->expired);
  secured_stop ((void **) &servers->secured);
  realm_stop ((void **) &servers->realm);
  for (int i = 0; i < N_TARGETS; i++)
    g_free (servers->addresses[i]);
  g_free (servers);
  return 0;
}

static char *
expand (Servers *servers, const char *word)
{
  const char *at = strchr (word, '%');

  if (at == NULL)
    return g_strdup (word);
  return g_strdup_printf ("%.*s%s", (int) (at - word), word,
                          secured_file (servers->secured, at + 1));
}

/* words: of the verb. */
static Cli *
start_case (Servers *servers, const Case *one, const char *const *words, gsize n_words)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  guint n_env = 1;

  g_ptr_array_add (argv, g_strdup ("/usr/bin/env"));
  g_ptr_array_add (argv, g_strdup (ZKFLOCK));
  g_ptr_array_add (argv, g_strdup ("-Z"));
  g_ptr_array_add (argv, g_strdup (servers->addresses[one->target]));
  for (int i = 0; i < MAX_WORDS && one->words[i] != NULL; i++) {
    char *word = expand (servers, one->words[i]);
    g_ptr_array_insert (argv, *word == '-' ? -1 : (int) n_env++, word);
  }
  /* No case waits for another one's lock. */
  for (gsize i = 0; i < n_words && words[i] != NULL; i++)
    g_ptr_array_add (argv, g_str_has_prefix (words[i], "/p/")
                               ? g_strdup_printf ("%s-%p", words[i], (gconstpointer) one)
                               : g_strdup (words[i]));
  Cli *cli = cli_start_words ((const char *const *) argv->pdata, argv->len);
  cli_close_stdin (cli);
  return cli;
}

#define start_verb(servers, one, ...) start_case ((servers), (one), CLI_WORDS (__VA_ARGS__))

typedef struct
{
  const Case *one;
  gsize verb;
  Cli *cli;
} Trial;

static Trial *
trial_start (Servers *servers, const Case *one, gsize verb)
{
  Trial *trial = g_new (Trial, 1);

  *trial =
      (Trial){ one, verb,
               start_case (servers, one, verbs[verb].words, G_N_ELEMENTS (verbs[verb].words)) };
  return trial;
}

static void
trial_free (gpointer data)
{
  Trial *trial = data;
  cli_free (trial->cli);
  g_free (trial);
}

/* FALSE after printing what is wrong. */
static gboolean
trial_check (const Trial *trial)
{
  const Case *one = trial->one;
  const int wanted = one->code != 0 ? one->code : verbs[trial->verb].code;
  const int code = cli_wait (trial->cli, CLI_MS);
  g_autofree char *err = cli_stderr (trial->cli);
  const gboolean has_run = g_file_test (trial->cli->log, G_FILE_TEST_EXISTS);
  const gboolean shall_run = one->code == 0 && verbs[trial->verb].runs;
  const gboolean has_cause =
      one->cause == NULL || (strstr (err, one->cause) != NULL && cli_is_one_line (err));
  const gboolean good = code == wanted && has_run == shall_run && has_cause;

  if (!good)
    print_error ("%s, %s: exit code %d, not %d; the command has%s run; stderr: %s\n", one->name,
                 verbs[trial->verb].words[0], code, wanted, has_run ? "" : " not", err);
  return good;
}

static void
check_trials (GPtrArray *trials)
{
  gboolean good = TRUE;

  for (guint i = 0; i < trials->len; i++)
    good = trial_check (trials->pdata[i]) && good;
  assert_true (good);
}

/* Many at the same time. */
static void
check_cases (Servers *servers, gsize from, gsize to)
{
  g_autoptr (GPtrArray) trials = g_ptr_array_new_with_free_func (trial_free);

  for (gsize i = from; i < to; i++) {
    for (gsize verb = 0; verb < G_N_ELEMENTS (verbs); verb++)
      if (!cases[i].waits && (i == 0 || !verbs[verb].only_first))
        g_ptr_array_add (trials, trial_start (servers, &cases[i], verb));
  }
  check_trials (trials);
}

/* They wait for as long as the default says; a lock and the verb that looks. */
TEST (start_cases_that_wait)
{
  servers->waiting = g_ptr_array_new_with_free_func (trial_free);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    for (gsize verb = 0; cases[i].waits && verb < G_N_ELEMENTS (verbs); verb++)
      if (verb == 0 || strcmp (verbs[verb].words[0], "who") == 0)
        g_ptr_array_add (servers->waiting, trial_start (servers, &cases[i], verb));
  }
}

TEST (cases_that_end)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i += N_AT_ONCE)
    check_cases (servers, i, MIN (i + N_AT_ONCE, G_N_ELEMENTS (cases)));
}

/* Nothing is connected before the files were found to be good. */
TEST (files_are_checked_first)
{
  static const struct
  {
    const char *words[4];
    int code;
    const char *cause;
  } rows[] = {
    { { TLS, "--tls-cert=%client.pem", "--tls-key=%foreign.key" }, 76, "client.pem: " },
    { { TLS, "--tls-cert=%expired-client.pem", "--tls-key=%client.key" }, 76, "has expired" },
    { { TLS, "--tls-cert=%client.pem", "--tls-key=%open.key" },
      76,
      "other users can read or write it" },
    { { "--tls-ca=%no-such-file" }, 76, "no-such-file: " },
    { { "--tls-ca=%open-ca.pem", OWN }, 76, "open-ca.pem: other users can write it" },
    { { "--tls-ca=%strangers-ca.pem", OWN }, 76, "strangers-ca.pem: " },
    { { "LD_LIBRARY_PATH=%no-library", TLS }, 64, "TLS: GnuTLS cannot be loaded: " },
    { { "LD_LIBRARY_PATH=%no-library", "--hosts=tls://127.0.0.1:1" },
      64,
      "TLS: GnuTLS cannot be loaded: " },
    { { "SASL_PATH=%no-library", DIGEST, "--sasl-password-file=%password" },
      64,
      "SASL DIGEST-MD5: Cyrus SASL finds no module for it; Debian's is in libsasl2-modules" },
    { { "SASL_PATH=%no-library", "--sasl=gssapi" },
      64,
      "SASL GSSAPI: Cyrus SASL finds no module for it; Debian's is in "
      "libsasl2-modules-gssapi-mit" },
    { { "--tls-ca=%client.key" }, 76, "no certificate" },
    { { TLS, "--tls-cert=%client.pem", "--tls-key=%client-encrypted.key" },
      76,
      "client-encrypted.key: the key cannot be read; it may need a password" },
    { { TLS, "--tls-cert=%client.p12", "--tls-key=%client.key" },
      76,
      "client.p12: it is no PEM file; PKCS#12 and DER must be converted" },
    { { "--tls-cert=%client.pem", "--tls-key=%client-encrypted.key",
        "--tls-key-password-file=%wrong" },
      76,
      "client-encrypted.key: the key cannot be read with its password" },
    { { "--tls-cert=%client.pem", "--tls-key=%client-encrypted.key",
        "--tls-key-password-file=%open-password" },
      77,
      "key password file " },
    { { DIGEST, "--sasl-password-file=%open-password" }, 77, "other users have access to it" },
    { { DIGEST, "--sasl-password-file=%no-such-file" }, 77, "No such file" },
    { { DIGEST, "--sasl-password-file=%two-lines" }, 77, "one line, the password" },
    { { DIGEST, "--sasl-password-file=%empty" }, 77, "one line, the password" },
    { { "--tls-key=%client.key" }, 64, "--tls-key needs --tls-cert" },
    { { "ZKFLOCK_TLS_KEY=/some.key" }, 64, "--tls-key needs --tls-cert" },
    { { "--tls-key-password-file=%password" }, 64, "--tls-key-password-file needs --tls-cert" },
    { { "--sasl=plain" }, 64, "--sasl is one of digest, gssapi" },
    { { "--sasl=digest" }, 64, "--sasl=digest needs --sasl-user and --sasl-password-file" },
    { { "--sasl=digest", "--sasl-user=me" }, 64, "needs --sasl-user and --sasl-password-file" },
    { { "--sasl-user=me" }, 64, "need --sasl" },
    { { "ZKFLOCK_SASL_USER=me" }, 64, "need --sasl" },
    { { "--sasl=gssapi", "--sasl-user=me" }, 64, "apply to --sasl=digest only" },
    { { DIGEST, "--sasl-password-file=%password", "--sasl-server-principal=zk" },
      64,
      "applies to --sasl=gssapi only" },
    { { "--sasl=gssapi", "--sasl-server-principal=zk/a@REALM" }, 64, "without a realm" },
    { { "--acl=creator" }, 64, "--acl=creator needs --auth-file, --tls-cert or --sasl" },
    { { "--hosts=tls://one,two" }, 64, "before every server or before none" },
  };
  Secured *secured = servers->secured;
  struct pollfd waiting = { .fd = servers->untouched_fd, .events = POLLIN };
  g_autofree char *ca = NULL;

  write_file (secured->directory, "open-password", SASL_PASSWORD, 0640);
  write_file (secured->directory, "two-lines", SASL_PASSWORD "\n" SASL_PASSWORD "\n", 0600);
  write_file (secured->directory, "empty", "\n", 0600);
  write_file (secured->directory, "open.key", "", 0644);
  assert_true (g_file_get_contents (secured_file (secured, "ca.pem"), &ca, NULL, NULL));
  write_file (secured->directory, "open-ca.pem", ca, 0666);
  write_file (secured->directory, "strangers-ca.pem", ca, 0644);
  if (geteuid () != 0
      || chown (secured_file (secured, "strangers-ca.pem"), STRANGER, (gid_t) -1) != 0)
    write_file (secured->directory, "strangers-ca.pem", ca, 0666);
  assert_int_equal (g_mkdir (secured_file (secured, "no-library"), 0700), 0);
  write_file (secured->directory, "no-library/libgnutls.so.30", "", 0600);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    Case one = { .target = TO_UNTOUCHED };
    memcpy (one.words, rows[i].words, sizeof rows[i].words);
    g_autoptr (Cli) cli = start_verb (servers, &one, "/p");
    cli_ends_with_line (cli, rows[i].code, rows[i].cause);
    cli_says_not (cli, SASL_PASSWORD);
  }
  assert_int_equal (poll (&waiting, 1, 0), 0);
}

/* Who does without TLS does not wait for it. */
TEST (gnutls_is_loaded_for_tls_alone)
{
  static const Case each[] = {
    { .name = "1", .target = TO_SECURE, .words = { TLS, OWN } },
    { .name = "0", .target = TO_CLEAR, .words = { DIGEST, "--sasl-password-file=%password" } },
    { .name = "0", .target = TO_CLEAR },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (each); i++) {
    g_autoptr (Cli) cli = start_verb (servers, &each[i], "/p/loaded", "/bin/sh", "-c",
                                      "grep -q libgnutls /proc/$PPID/maps && echo 1 || echo 0");
    cli_ends (cli, 0, "");
    g_autofree char *loaded = cli_stdout (cli);
    assert_string_equal (g_strstrip (loaded), each[i].name);
  }
}

/* Passwords are in no log, not on the command line, and not in what the command inherits. */
TEST (passwords_stay_secret)
{
  const Case one = { .target = TO_SECURE,
                     .words = { "G_MESSAGES_DEBUG=all", TLS, "--tls-cert=%client.pem",
                                "--tls-key=%client-encrypted.key",
                                "--tls-key-password-file=%key-password", DIGEST,
                                "--sasl-password-file=%password", "--verbose" } };
  g_autoptr (Cli) cli =
      start_verb (servers, &one, "/p/secret", "/bin/sh", "-c",
                  "cat /proc/$PPID/cmdline /proc/self/environ; ls -l /proc/self/fd");

  cli_ends (cli, 0, NULL);
  const char *const files[] = { cli->out, cli->err };
  const char *const secrets[] = { SASL_PASSWORD, KEY_PASSWORD };
  for (gsize i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *text = NULL;
    gsize length = 0;
    assert_true (g_file_get_contents (files[i], &text, &length, NULL));
    assert_true (length > 0);
    for (gsize k = 0; k < G_N_ELEMENTS (secrets); k++)
      assert_null (memmem (text, length, secrets[k], strlen (secrets[k])));
  }
}

/* Who is authenticated owns what it creates. */
TEST (nodes_belong_to_the_identity)
{
  static const Case owners[] = {
    { .target = TO_SECURE, .words = { TLS, OWN, "--acl=creator", "-n" } },
    { .target = TO_CLEAR,
      .words = { DIGEST, "--sasl-password-file=%password", "--acl=creator", "-n" } },
  };
  static const char *const paths[] = { "/owned/by-certificate", "/owned/by-password" };
  assert_int_equal (raw_zk_make_path (servers->secured->raw, "/owned"), ZOK);
  for (gsize i = 0; i < G_N_ELEMENTS (owners); i++) {
    for (gsize k = 0; k < G_N_ELEMENTS (owners); k++) {
      const gsize one = (i + k) % G_N_ELEMENTS (owners);
      g_autoptr (Cli) cli = start_verb (servers, &owners[one], paths[i], "/bin/true");
      cli_ends (cli, one == i ? 0 : 77, NULL);
    }
    assert_int_equal (raw_zk_get (servers->secured->raw, paths[i], NULL, NULL), ZNOAUTH);
  }
}

/* What doctor says to that user, with one finding at least. */
#define doctor_says(servers, user, ...)                                                            \
  doctor_output ((servers), &(Case){ .target = (user), .words = { __VA_ARGS__ } })
static char *
doctor_output (Servers *servers, const Case *one)
{
  g_autoptr (Cli) cli = start_verb (servers, one, "doctor", "/none");
  cli_ends (cli, 1, NULL);
  return cli_stdout (cli);
}

/* One of the servers has a certificate of another name. */
TEST (doctor_looks_at_certificates)
{
  g_autofree char *host = zk_server_new_host ();
  const char *secure = servers->addresses[TO_SECURE];
  g_autoptr (Proxy) proxy = proxy_new_raw (secure, host);
  g_autofree char *hosts =
      g_strdup_printf ("--hosts=tls://%s,tls://%s", secure, proxy_address (proxy));
  g_autofree char *out = doctor_says (servers, TO_SECURE, hosts, TLS, OWN);

  cli_shows (out, "problem: %s: the certificate of the server is not valid for \"%s\"",
             proxy_address (proxy), host);
  cli_shows (out, "warning: %s: its certificate expires on ", secure);
  cli_shows (out, "warning: %s: our certificate expires on ",
             secured_file (servers->secured, "client.pem"));
  /* Through TLS, the server's ticks and sessions are known. */
  assert_null (strstr (out, "does not answer \"conf\""));
}

TEST (doctor_finds_clear_text_without_sasl)
{
  static const char unlike[] = "clients without SASL are served";
  const ZkServerSetup setup = { .tick_ms = 2000,
                                .config = "enforce.auth.enabled=true\nenforce.auth.schemes=sasl\n",
                                .security = servers->secured->directory,
                                .netty = TRUE };
  g_autoptr (ZkServer) strict = zk_server_start_as (&setup);
  g_autofree char *open = doctor_says (servers, TO_CLEAR, DIGEST, "--sasl-password-file=%password");

  cli_shows (open, "%s", unlike);
  cli_shows (
      open,
      "warning: %s: the connection is in clear text, and the server offers TLS: use tls://%s\n",
      servers->addresses[TO_CLEAR], servers->addresses[TO_SECURE]);
  assert_non_null (strict);
  g_autofree char *hosts = g_strconcat ("--hosts=", zk_server_address (strict), NULL);
  g_autofree char *closed =
      doctor_says (servers, TO_CLEAR, hosts, DIGEST, "--sasl-password-file=%password");
  cli_shows (closed, "clear text");
  assert_null (strstr (closed, unlike));
}

static void
replace (GString *text, const char *from, const char *to)
{
  assert_true (g_string_replace (text, from, to, 0) > 0);
}

/* Runs what the document prints in a directory and returns the output. hourly-report prints the
 * path of its lock. */
static char *
run_recipe (const char *directory, const char *script)
{
  g_autofree char *path = g_strdup_printf ("PATH=%s:%s:%s", directory,
                                           CURATOR_BINARY_DIR "/tools/zkflock", g_getenv ("PATH"));
  g_autofree char *java = zk_server_class_path ();
  g_autofree char *zkcli = g_strdup_printf (
      "#!/bin/sh\nexec java -cp '%s' org.apache.zookeeper.ZooKeeperMain \"$@\"\n", java);
  g_autofree char *all = g_strdup_printf ("cd %s\n%s", directory, script);

  write_file (directory, "hourly-report", "#!/bin/sh\necho $CURATOR_LOCK_PATH\n", 0700);
  write_file (directory, "zkCli.sh", zkcli, 0700);
  return cli_output (0, NULL, CLI_WORDS ("/usr/bin/env", path, "bash", "-e", "-c", all));
}

static void
assert_recipe (const char *directory, const char *script, const char *output)
{
  g_autofree char *out = run_recipe (directory, script);
  assert_string_equal (out, output);
}

/* The block of that language with that number, behind the heading. */
static GString *
block_of (const char *document, const char *heading, const char *language, int number)
{
  g_autofree char *file = g_build_filename (CURATOR_SOURCE_DIR "/docs", document, NULL);
  g_autofree char *fence = g_strdup_printf ("\n```%s\n", language);
  g_autofree char *text = NULL;

  assert_true (g_file_get_contents (file, &text, NULL, NULL));
  const char *start = strstr (text, heading);
  for (int i = 0; i <= number; i++) {
    assert_non_null (start);
    start = strstr (start + 1, fence);
  }
  assert_non_null (start);
  start += strlen (fence);
  const char *end = strstr (start, "```");
  assert_non_null (end);
  return g_string_new_len (start, end - start);
}

/* The commands of docs/zkflock.md, on the servers of this test. */
TEST (recipes_of_zkflock)
{
  Secured *secured = servers->secured;
  g_autofree char *by_tls = g_strconcat ("tls://", servers->addresses[TO_SECURE], NULL);
  g_autofree char *by_sasl = g_strdup_printf ("zkflock -Z %s --sasl", servers->addresses[TO_CLEAR]);
  g_autofree char *folder = g_strconcat (secured->directory, "/", NULL);

  write_file (secured->directory, "alice.password", SASL_PASSWORD "\n", 0600);
  g_autoptr (GString) tls = block_of ("zkflock.md", "## A secured ensemble", "sh", 0);
  replace (tls, "/etc/zkflock/", folder);
  replace (tls, "tls://zk1,tls://zk2,tls://zk3", by_tls);
  replace (tls, "me.pem", "client.pem");
  replace (tls, "me.key", "client.key");
  assert_recipe (secured->directory, tls->str, "/jobs/hourly\n");
  g_autoptr (GString) sasl = block_of ("zkflock.md", "## A secured ensemble", "sh", 1);
  replace (sasl, "/etc/zkflock/", folder);
  replace (sasl, "zkflock --sasl", by_sasl);
  assert_recipe (secured->directory, sasl->str, "/reports/hourly\n");
}

/* scheduler.conf with every line in force, as the unit reads it. */
TEST (environment_file_of_the_unit)
{
  Secured *secured = servers->secured;
  g_autofree char *text = NULL;
  g_autofree char *by_tls = g_strconcat ("tls://", servers->addresses[TO_SECURE], NULL);
  g_autofree char *folder = g_strconcat (secured->directory, "/", NULL);

  assert_true (
      g_file_get_contents (CURATOR_SOURCE_DIR "/tools/zkflock/scheduler.conf", &text, NULL, NULL));
  g_autoptr (GString) lines = g_string_new (text);
  replace (lines, "#ZKFLOCK_", "ZKFLOCK_");
  replace (lines, "tls://zk1,tls://zk2,tls://zk3", by_tls);
  replace (lines, "NAME.key-password", "key-password");
  replace (lines, "NAME.password", "password");
  replace (lines, "NAME.pem", "client.pem");
  replace (lines, "NAME.key", "client-encrypted.key");
  replace (lines, "SASL_USER=NAME", "SASL_USER=" SASL_USER);
  replace (lines, "/usr/sbin/daemon --foreground", "hourly-report");
  replace (lines, "/etc/zkflock/", folder);
  write_file (secured->directory, "conf", lines->str, 0600);
  /* As systemd: what follows "=" is the value, up to the end of the line. */
  assert_recipe (secured->directory,
                 "while IFS== read -r name value; do\n"
                 "  case $name in ZKFLOCK_*) export \"$name=$value\" ;; esac\n"
                 "done <conf\n"
                 "zkflock ${ZKFLOCK_PATH} $ZKFLOCK_COMMAND\n",
                 "/leaders/NAME\n");
}

/* A server as docs/security.md sets it up, from the certificates on, and its clients. */
TEST (recipes_of_security)
{
  g_autofree char *directory = g_dir_make_tmp ("curator-recipes-XXXXXX", NULL);
  g_autofree char *folder = g_strconcat (directory, "/", NULL);
  g_autofree char *host = zk_server_new_host ();
  const int port = zk_server_free_port (host);
  g_autofree char *names = g_strdup_printf ("DNS:zk1,IP:%s", host);
  g_autofree char *address = g_strdup_printf ("%s:%d", host, port);
  g_autofree char *secure_port =
      g_strdup_printf ("secureClientPortAddress=%s\nsecureClientPort=%d\n", host, port);
  g_autofree char *login =
      g_strdup_printf ("-Djava.security.auth.login.config=%s/jaas.conf", directory);
  g_autoptr (GString) certificates = block_of ("security.md", "", "sh", 0);
  replace (certificates, "DNS:zk1", names);
  g_free (run_recipe (directory, certificates->str));
  g_autoptr (GString) config = block_of ("security.md", "", "properties", 0);
  replace (config, "secureClientPort=2281\n", secure_port);
  replace (config, "/etc/zookeeper/", folder);
  g_autoptr (GString) users = block_of ("security.md", "", "jaas", 0);
  g_autoptr (GString) client = block_of ("security.md", "", "properties", 1);
  write_file (directory, "jaas.conf", users->str, 0600);
  write_file (directory, "client.properties", client->str, 0600);
  const char *const options[] = { login, NULL };
  const ZkServerSetup setup = {
    .tick_ms = 2000, .host = host, .config = config->str, .netty = TRUE, .java_options = options
  };
  ZkServer *server = zk_server_start_as (&setup);
  assert_non_null (server);

  g_autofree char *by_tls = g_strconcat ("tls://", address, NULL);
  g_autoptr (GString) use = block_of ("security.md", "", "sh", 1);
  replace (use, "tls://zk1", by_tls);
  assert_recipe (directory, use->str, "/jobs/hourly\n");
  g_autoptr (GString) acls = block_of ("security.md", "", "sh", 2);
  g_autofree char *exported = g_strndup (use->str, strcspn (use->str, "\n") + 1);
  replace (acls, "zk1:2281", address);
  g_string_prepend (acls, exported);
  g_autofree char *out = run_recipe (directory, acls->str);
  assert_true (g_str_has_suffix (out, "/billing/hourly\n"));
  zk_server_stop (server);
  const char *const remove[] = { "/bin/rm", "-r", directory, NULL };
  assert_true (realm_run (remove));
}

TEST (cases_that_wait)
{
  check_trials (servers->waiting);
}

SUITE ("secured", start, stop)
