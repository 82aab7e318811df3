/* zkflock over TLS and SASL: each verb with what the servers accept and with what they refuse. A
 * refusal has its exit code and its cause, and no command runs without the lock. */
#define SUITE_FIXTURE Servers *servers
#define SUITE_SETUP   NULL
#include "cli.h"

#include "integration/secured/realm.h"
#include "integration/secured/secured.h"
#include "support/process.h"

#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WORDS 10
#define N_AT_ONCE 5
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
  N_TARGETS
} Target;

typedef struct
{
  Secured *secured;
  Realm *realm;
  char *addresses[N_TARGETS];
  pid_t expired;
  int silent_fd;
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
  { "TLS", TO_SECURE, { TLS, OWN }, 0, NULL },
  { "TLS by the environment",
    TO_SECURE,
    { "ZKFLOCK_TLS_CA=%ca.pem", "ZKFLOCK_TLS_CERT=%client.pem", "ZKFLOCK_TLS_KEY=%client.key" },
    0,
    NULL },
  { "the name of all certificates", TO_SECURE, { TLS, OWN, "--tls-server-name=zk.test" }, 0, NULL },
  { "encrypted key",
    TO_SECURE,
    { TLS, "--tls-cert=%client.pem", "--tls-key=%client-encrypted.key",
      "--tls-key-password-file=%key-password" },
    0,
    NULL },
  { "digest", TO_CLEAR, { DIGEST, "--sasl-password-file=%password" }, 0, NULL },
  { "digest by the environment",
    TO_CLEAR,
    { "ZKFLOCK_SASL=digest", "ZKFLOCK_SASL_USER=" SASL_USER,
      "ZKFLOCK_SASL_PASSWORD_FILE=%password" },
    0,
    NULL },
  { "digest in TLS", TO_SECURE, { TLS, OWN, DIGEST, "--sasl-password-file=%password" }, 0, NULL },
  { "gssapi", TO_KERBEROS, { "--sasl=gssapi", PRINCIPAL }, 0, NULL },

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

/* What zkflock is asked to do; MARK is a file that the command writes. */
#define MARK "MARK"
static const struct
{
  const char *words[8];
  int code; /* when it connects; the locks are free */
  gboolean runs;
  gboolean only_first; /* connects as another one does: in the first case of all */
} verbs[] = {
  { { "/p/lock", CLI_COMMAND, "turn", MARK, "0" }, 0, TRUE, FALSE },
  { { "-n", "-E", "0", "/p/try", CLI_COMMAND, "turn", MARK, "0" }, 0, TRUE, FALSE },
  { { "-s", "/p/read", CLI_COMMAND, "turn", MARK, "0" }, 0, TRUE, TRUE },
  { { "-x", "/p/write", CLI_COMMAND, "turn", MARK, "0" }, 0, TRUE, TRUE },
  { { "-N", "2", "/p/semaphore", CLI_COMMAND, "turn", MARK, "0" }, 0, TRUE, TRUE },
  { { "--multi=/p/a", "/p/b", CLI_COMMAND, "turn", MARK, "0" }, 0, TRUE, TRUE },
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
write_secret (Secured *secured, const char *name, const char *text, int mode)
{
  const char *file = secured_file (secured, name);
  assert_true (g_file_set_contents (file, text, -1, NULL));
  assert_int_equal (g_chmod (file, mode), 0);
}

static pid_t
start_expired (Servers *servers)
{
  Secured *secured = servers->secured;
  g_autofree char *openssl = g_find_program_in_path ("openssl");
  const char *pem = secured_file (secured, "expired.pem");
  char *address = g_strdup_printf ("%s:%d", secured->host, zk_server_free_port (secured->host));
  const char *const argv[] = { openssl, "s_server", "-quiet", "-accept", address,
                               "-cert", pem,        "-key",   pem,       NULL };

  servers->addresses[TO_EXPIRED] = address;
  return process_spawn ((char *const *) argv, secured_file (secured, "s_server.log"));
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
  write_secret (secured, "password", SASL_PASSWORD "\n", 0600);
  write_secret (secured, "wrong", "not the password\n", 0600);
  write_secret (secured, "key-password", KEY_PASSWORD "\n", 0600);
  servers->addresses[TO_SECURE] = g_strdup (secured->address);
  servers->addresses[TO_CLEAR] = g_strdup (zk_server_address (secured->server));
  servers->addresses[TO_KERBEROS] = g_strdup (zk_server_address (servers->realm->server));
  servers->expired = start_expired (servers);
  servers->silent_fd = cli_listen (&servers->addresses[TO_SILENT]);
  return servers->expired != 0 ? 0 : -1;
}

static int
stop (void **state)
{
  Servers *servers = *state;

  g_clear_pointer (&servers->waiting, g_ptr_array_unref);
  close (servers->silent_fd);
  process_kill (servers->expired);
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

/* words: of the verb, up to NULL or n_words. */
static Cli *
start_case (Servers *servers, const Case *one, const char *const *words, gsize n_words,
            const char *mark)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  guint n_env = 1;

  g_ptr_array_add (argv, g_strdup ("/usr/bin/env"));
  g_ptr_array_add (argv, g_strdup (ZKFLOCK));
  g_ptr_array_add (argv, g_strdup ("-Z"));
  g_ptr_array_add (argv, g_strdup (servers->addresses[one->target]));
  for (int i = 0; i < MAX_WORDS && one->words[i] != NULL; i++)
    {
      char *word = expand (servers, one->words[i]);
      g_ptr_array_insert (argv, *word == '-' ? -1 : (int) n_env++, word);
    }
  for (gsize i = 0; i < n_words && words[i] != NULL; i++)
    {
      /* No case waits for another one's lock. */
      g_ptr_array_add (argv, strcmp (words[i], MARK) == 0 ? g_strdup (mark)
                             : g_str_has_prefix (words[i], "/p/")
                                 ? g_strdup_printf ("%s-%p", words[i], (gconstpointer) one)
                                 : expand (servers, words[i]));
    }
  g_ptr_array_add (argv, NULL);
  Cli *cli = cli_start_strv ((char *const *) argv->pdata);
  cli_close_stdin (cli);
  return cli;
}

static gboolean
is_one_line (const char *text)
{
  const char *end = strchr (text, '\n');
  return end != NULL && end[1] == '\0';
}

typedef struct
{
  const Case *one;
  gsize verb;
  Cli *cli;
  char *mark;
} Trial;

static Trial *
trial_start (Servers *servers, const Case *one, gsize verb)
{
  Trial *trial = g_new (Trial, 1);
  char *mark = cli_new_file ();

  *trial =
      (Trial){ one, verb,
               start_case (servers, one, verbs[verb].words, G_N_ELEMENTS (verbs[verb].words), mark),
               mark };
  return trial;
}

static void
trial_free (gpointer data)
{
  Trial *trial = data;
  g_unlink (trial->mark);
  g_free (trial->mark);
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
  const gboolean has_run = g_file_test (trial->mark, G_FILE_TEST_EXISTS);
  const gboolean shall_run = one->code == 0 && verbs[trial->verb].runs;
  const gboolean has_cause =
      one->cause == NULL || (strstr (err, one->cause) != NULL && is_one_line (err));

  if (code != wanted || has_run != shall_run || !has_cause)
    {
      print_error ("%s, %s: exit code %d, not %d; the command has%s run; stderr: %s\n", one->name,
                   verbs[trial->verb].words[0], code, wanted, has_run ? "" : " not", err);
      return FALSE;
    }
  return TRUE;
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

  for (gsize i = from; i < to; i++)
    {
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
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      for (gsize verb = 0; cases[i].waits && verb < G_N_ELEMENTS (verbs); verb++)
        if (verb == 0 || strcmp (verbs[verb].words[0], "who") == 0)
          g_ptr_array_add (servers->waiting, trial_start (servers, &cases[i], verb));
    }
}

TEST (good_cases)
{
  for (gsize i = 0; cases[i].code == 0; i += 2)
    check_cases (servers, i, i + 2);
}

TEST (bad_cases)
{
  const gsize n = G_N_ELEMENTS (cases);
  gsize i = 0;

  for (; cases[i].code == 0; i++)
    {
    }
  for (; i < n; i += N_AT_ONCE)
    check_cases (servers, i, MIN (i + N_AT_ONCE, n));
}

/* The words end with those of the verb. */
static Cli *
start_words (Servers *servers, Target target, const char *const *words, const char *path)
{
  const Case one = { .target = target };
  const char *all[MAX_WORDS + 4];
  gsize n = 0;

  for (; words[n] != NULL; n++)
    all[n] = words[n];
  all[n++] = path;
  all[n] = NULL;
  return start_case (servers, &one, all, n, NULL);
}

/* Nothing is connected before the files were found to be good. */
TEST (files_are_checked_first)
{
  static const struct
  {
    const char *words[4];
    int code;
    const char *cause;
  } files[] = {
    { { TLS, "--tls-cert=%client.pem", "--tls-key=%foreign.key" }, 76, "client.pem: " },
    { { TLS, "--tls-cert=%expired-client.pem", "--tls-key=%client.key" }, 76, "has expired" },
    { { TLS, "--tls-cert=%client.pem", "--tls-key=%open.key" },
      76,
      "other users can read or write it" },
    { { "--tls-ca=%no-such-file" }, 76, "no-such-file: " },
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
  };
  Secured *secured = servers->secured;
  g_autofree char *address = g_steal_pointer (&servers->addresses[TO_SILENT]);
  const int fd = cli_listen (&servers->addresses[TO_SILENT]);
  gboolean good = TRUE;

  write_secret (secured, "open-password", SASL_PASSWORD, 0640);
  write_secret (secured, "two-lines", SASL_PASSWORD "\n" SASL_PASSWORD "\n", 0600);
  write_secret (secured, "empty", "\n", 0600);
  write_secret (secured, "open.key", "", 0644);
  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autoptr (Cli) cli = start_words (servers, TO_SILENT, files[i].words, "/p");
      const int code = cli_wait (cli, CLI_MS);
      g_autofree char *err = cli_stderr (cli);
      if (code != files[i].code || strstr (err, files[i].cause) == NULL || !is_one_line (err)
          || strstr (err, SASL_PASSWORD) != NULL)
        {
          print_error ("%s: exit code %d, not %d: %s\n", files[i].words[1], code, files[i].code,
                       err);
          good = FALSE;
        }
    }
  struct pollfd waiting = { .fd = fd, .events = POLLIN };
  assert_int_equal (poll (&waiting, 1, 0), 0);
  close (fd);
  g_free (servers->addresses[TO_SILENT]);
  servers->addresses[TO_SILENT] = g_steal_pointer (&address);
  assert_true (good);
}

TEST (usage_errors)
{
  static const struct
  {
    const char *words[4];
    const char *mistake;
  } lines[] = {
    { { "--tls-key=%client.key" }, "--tls-key needs --tls-cert" },
    { { "ZKFLOCK_TLS_KEY=/some.key" }, "--tls-key needs --tls-cert" },
    { { "--tls-key-password-file=%password" }, "--tls-key-password-file needs --tls-cert" },
    { { "--sasl=plain" }, "--sasl is one of digest, gssapi" },
    { { "--sasl=digest" }, "--sasl=digest needs --sasl-user and --sasl-password-file" },
    { { "--sasl=digest", "--sasl-user=me" }, "needs --sasl-user and --sasl-password-file" },
    { { "--sasl-user=me" }, "need --sasl" },
    { { "ZKFLOCK_SASL_USER=me" }, "need --sasl" },
    { { "--sasl=gssapi", "--sasl-user=me" }, "apply to --sasl=digest only" },
    { { DIGEST, "--sasl-password-file=%password", "--sasl-server-principal=zk" },
      "applies to --sasl=gssapi only" },
    { { "--sasl=gssapi", "--sasl-server-principal=zk/a@REALM" }, "without a realm" },
    { { "--acl=creator" }, "--acl=creator needs --auth-file, --tls-cert or --sasl" },
    { { "--hosts=tls://one,two" }, "before every server or before none" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      const Case one = { .target = TO_SILENT,
                         .words = { lines[i].words[0], lines[i].words[1], lines[i].words[2],
                                    lines[i].words[3] } };
      const char *const path[] = { "/p" };
      g_autoptr (Cli) cli = start_case (servers, &one, path, 1, NULL);
      const int code = cli_wait (cli, CLI_MS);
      g_autofree char *err = cli_stderr (cli);
      print_message ("%s", err);
      assert_non_null (strstr (err, lines[i].mistake));
      assert_int_equal (code, 64);
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
  const char *const words[] = { "/p/secret", "/bin/sh", "-c",
                                "cat /proc/$PPID/cmdline /proc/self/environ; ls -l /proc/self/fd" };
  g_autoptr (Cli) cli = start_case (servers, &one, words, G_N_ELEMENTS (words), NULL);

  assert_int_equal (cli_wait (cli, CLI_MS), 0);
  const char *const files[] = { cli->out, cli->err };
  const char *const secrets[] = { SASL_PASSWORD, KEY_PASSWORD };
  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    {
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
  for (gsize i = 0; i < G_N_ELEMENTS (owners); i++)
    {
      for (gsize k = 0; k < G_N_ELEMENTS (owners); k++)
        {
          const gsize one = (i + k) % G_N_ELEMENTS (owners);
          const char *const words[] = { paths[i], "/bin/true" };
          g_autoptr (Cli) cli = start_case (servers, &owners[one], words, 2, NULL);
          assert_int_equal (cli_wait (cli, CLI_MS), one == i ? 0 : 77);
        }
      assert_int_equal (raw_zk_get (servers->secured->raw, paths[i], NULL, NULL), ZNOAUTH);
    }
}

/* One of the servers has a certificate of another name. */
TEST (doctor_looks_at_certificates)
{
  g_autofree char *host = zk_server_new_host ();
  Proxy *proxy = proxy_new_raw (servers->addresses[TO_SECURE], host);
  g_autofree char *hosts =
      g_strdup_printf ("tls://%s,tls://%s", servers->addresses[TO_SECURE], proxy_address (proxy));
  g_autofree char *option = g_strconcat ("--hosts=", hosts, NULL);
  const char *const words[] = { option, TLS, OWN, "doctor", NULL };
  g_autoptr (Cli) cli = start_words (servers, TO_SECURE, words, "/none");
  const int code = cli_wait (cli, CLI_MS);
  g_autofree char *out = cli_stdout (cli);
  g_autofree char *mismatch =
      g_strdup_printf ("problem: %s: the certificate of the server is not valid for \"%s\"",
                       proxy_address (proxy), host);
  g_autofree char *servers_own =
      g_strdup_printf ("warning: %s: its certificate expires on ", servers->addresses[TO_SECURE]);
  g_autofree char *ours = g_strdup_printf ("warning: %s: our certificate expires on ",
                                           secured_file (servers->secured, "client.pem"));

  print_message ("%s", out);
  proxy_free (proxy);
  assert_int_equal (code, 1);
  assert_non_null (strstr (out, mismatch));
  assert_non_null (strstr (out, servers_own));
  assert_non_null (strstr (out, ours));
  /* Through TLS, the server's ticks and sessions are known. */
  assert_null (strstr (out, "does not answer \"conf\""));
}

/* What doctor says to a user of SASL on these servers. */
static char *
doctor_with_sasl (Servers *servers, const char *address)
{
  g_autofree char *option = g_strconcat ("--hosts=", address, NULL);
  const char *const words[] = { option, DIGEST, "--sasl-password-file=%password", "doctor", NULL };
  g_autoptr (Cli) cli = start_words (servers, TO_CLEAR, words, "/none");

  cli_wait (cli, CLI_MS);
  char *out = cli_stdout (cli);
  print_message ("%s", out);
  return out;
}

TEST (doctor_finds_that_sasl_is_not_required)
{
  static const char unlike[] = "clients without SASL are served";
  g_autofree char *folder = g_path_get_dirname (secured_file (servers->secured, "ca.pem"));
  const ZkServerSetup setup = { .tick_ms = 2000,
                                .config = "enforce.auth.enabled=true\nenforce.auth.schemes=sasl\n",
                                .security = folder,
                                .netty = TRUE };

  g_autofree char *open = doctor_with_sasl (servers, servers->addresses[TO_CLEAR]);
  assert_non_null (strstr (open, unlike));
  ZkServer *strict = zk_server_start_as (&setup);
  assert_non_null (strict);
  g_autofree char *closed = doctor_with_sasl (servers, zk_server_address (strict));
  assert_non_null (strstr (closed, "clear text"));
  assert_null (strstr (closed, unlike));
  zk_server_stop (strict);
}

TEST (doctor_finds_clear_text)
{
  const char *const words[] = { "doctor", NULL };
  g_autoptr (Cli) cli = start_words (servers, TO_CLEAR, words, "/none");
  const int code = cli_wait (cli, CLI_MS);
  g_autofree char *out = cli_stdout (cli);
  g_autofree char *finding = g_strdup_printf (
      "warning: %s: the connection is in clear text, and the server offers TLS: use tls://%s\n",
      servers->addresses[TO_CLEAR], servers->addresses[TO_SECURE]);

  print_message ("%s", out);
  assert_int_equal (code, 1);
  assert_non_null (strstr (out, finding));
}

/* text, without what is before and after the section of that heading. */
static char *
section_of (const char *text, const char *heading)
{
  const char *start = strstr (text, heading);

  assert_non_null (start);
  const char *end = strstr (start + 1, "\n## ");
  return end != NULL ? g_strndup (start, (gsize) (end - start)) : g_strdup (start);
}

static void
replace (GString *text, const char *from, const char *to)
{
  assert_true (g_string_replace (text, from, to, 0) > 0);
}

static void
write_program (const char *directory, const char *name, const char *text)
{
  g_autofree char *file = g_build_filename (directory, name, NULL);
  assert_true (g_file_set_contents (file, text, -1, NULL));
  assert_int_equal (g_chmod (file, 0700), 0);
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

  write_program (directory, "hourly-report", "#!/bin/sh\necho $CURATOR_LOCK_PATH\n");
  write_program (directory, "zkCli.sh", zkcli);
  g_autoptr (Cli) cli = cli_start ("/usr/bin/env", path, "bash", "-e", "-c", all, NULL);
  const int code = cli_wait (cli, CLI_MS);
  g_autofree char *err = cli_stderr (cli);
  char *out = cli_stdout (cli);
  print_message ("%s%s%s", script, out, err);
  assert_int_equal (code, 0);
  return out;
}

/* The block of that language with that number. */
static GString *
block_of (const char *text, const char *language, int number)
{
  g_autofree char *fence = g_strdup_printf ("\n```%s\n", language);
  const char *start = text;

  for (int i = 0; i <= number; i++)
    {
      start = strstr (start, fence);
      assert_non_null (start);
      start += strlen (fence);
    }
  const char *end = strstr (start, "```");
  assert_non_null (end);
  return g_string_new_len (start, end - start);
}

/* The commands of docs/zkflock.md, on the servers of this test. */
TEST (recipes_of_zkflock)
{
  Secured *secured = servers->secured;
  g_autofree char *text = NULL;
  g_autofree char *by_tls = g_strconcat ("tls://", servers->addresses[TO_SECURE], NULL);
  g_autofree char *by_sasl = g_strdup_printf ("zkflock -Z %s --sasl", servers->addresses[TO_CLEAR]);
  g_autofree char *folder = g_strconcat (secured->directory, "/", NULL);

  write_secret (secured, "alice.password", SASL_PASSWORD "\n", 0600);
  assert_true (g_file_get_contents (CURATOR_SOURCE_DIR "/docs/zkflock.md", &text, NULL, NULL));
  g_autofree char *section = section_of (text, "## A secured ensemble");
  g_autoptr (GString) tls = block_of (section, "sh", 0);
  replace (tls, "/etc/zkflock/", folder);
  replace (tls, "tls://zk1,tls://zk2,tls://zk3", by_tls);
  replace (tls, "me.pem", "client.pem");
  replace (tls, "me.key", "client.key");
  g_autofree char *first = run_recipe (secured->directory, tls->str);
  assert_string_equal (first, "/jobs/hourly\n");
  g_autoptr (GString) sasl = block_of (section, "sh", 1);
  replace (sasl, "/etc/zkflock/", folder);
  replace (sasl, "zkflock --sasl", by_sasl);
  g_autofree char *second = run_recipe (secured->directory, sasl->str);
  assert_string_equal (second, "/reports/hourly\n");
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
  g_autofree char *file = g_build_filename (secured->directory, "conf", NULL);
  assert_true (g_file_set_contents (file, lines->str, -1, NULL));
  /* As systemd: what follows "=" is the value, up to the end of the line. */
  g_autofree char *out =
      run_recipe (secured->directory, "while IFS== read -r name value; do\n"
                                      "  case $name in ZKFLOCK_*) export \"$name=$value\" ;; esac\n"
                                      "done <conf\n"
                                      "zkflock ${ZKFLOCK_PATH} $ZKFLOCK_COMMAND\n");
  assert_string_equal (out, "/leaders/NAME\n");
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
  g_autofree char *jaas = g_build_filename (directory, "jaas.conf", NULL);
  g_autofree char *properties = g_build_filename (directory, "client.properties", NULL);
  g_autofree char *text = NULL;

  assert_true (g_file_get_contents (CURATOR_SOURCE_DIR "/docs/security.md", &text, NULL, NULL));
  g_autoptr (GString) certificates = block_of (text, "sh", 0);
  replace (certificates, "DNS:zk1", names);
  g_free (run_recipe (directory, certificates->str));
  g_autoptr (GString) config = block_of (text, "properties", 0);
  replace (config, "secureClientPort=2281\n", secure_port);
  replace (config, "/etc/zookeeper/", folder);
  g_autoptr (GString) users = block_of (text, "jaas", 0);
  g_autoptr (GString) client = block_of (text, "properties", 1);
  assert_true (g_file_set_contents (jaas, users->str, -1, NULL));
  assert_true (g_file_set_contents (properties, client->str, -1, NULL));
  const char *const options[] = { login, NULL };
  const ZkServerSetup setup = {
    .tick_ms = 2000, .host = host, .config = config->str, .netty = TRUE, .java_options = options
  };
  ZkServer *server = zk_server_start_as (&setup);
  assert_non_null (server);

  g_autofree char *by_tls = g_strconcat ("tls://", address, NULL);
  g_autoptr (GString) use = block_of (text, "sh", 1);
  replace (use, "tls://zk1", by_tls);
  g_autofree char *first = run_recipe (directory, use->str);
  assert_string_equal (first, "/jobs/hourly\n");
  g_autoptr (GString) acls = block_of (text, "sh", 2);
  g_autofree char *exported = g_strndup (use->str, strcspn (use->str, "\n") + 1);
  replace (acls, "zk1:2281", address);
  g_string_prepend (acls, exported);
  g_autofree char *second = run_recipe (directory, acls->str);
  assert_true (g_str_has_suffix (second, "/billing/hourly\n"));
  zk_server_stop (server);
  const char *const remove[] = { "/bin/rm", "-r", directory, NULL };
  assert_true (realm_run (remove));
}

TEST (cases_that_wait)
{
  check_trials (servers->waiting);
}

SUITE ("secured", start, stop)
