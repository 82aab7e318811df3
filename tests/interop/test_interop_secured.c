/* C and Java contend on the paths of a secured ensemble: over TLS, over SASL, over both. Only those
 * who have authenticated may create nodes there. */
#include "integration/secured/secured.h"

#include "contest_test.h"

#include <string.h>

#define THREADS   4
#define N_THREADS (3 * THREADS) /* of two processes in C and one in Java */
/* Acquisitions of each recipe over each kind of connection, where the environment sets it; without
 * it every recipe runs once, over one kind. */
#define TOTAL_VARIABLE "CURATOR_TEST_SECURED_ACQUISITIONS"
#define SHORT_TOTAL    120

static const char client_jaas[] = "Client {\n"
                                  "  org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                                  "  username=\"" SASL_USER "\" password=\"" SASL_PASSWORD "\";\n"
                                  "};\n";

typedef struct
{
  const char *recipe;
  int limit;
} Contested;

static const Contested contested[] = {
  { "mutex", 1 },
  { "semmutex", 1 },
  { "semaphore:3", 3 },
  { "rw", 1 },
};

/* For Java: its own key store is the certificate and the key in one file. */
static void
write_java_files (Secured *secured)
{
  g_autofree char *certificate = NULL;
  g_autofree char *key = NULL;
  assert_true (
      g_file_get_contents (secured_file (secured, "client.pem"), &certificate, NULL, NULL));
  assert_true (g_file_get_contents (secured_file (secured, "client.key"), &key, NULL, NULL));
  g_autofree char *both = g_strconcat (certificate, key, NULL);
  assert_true (g_file_set_contents (secured_file (secured, "client-java.pem"), both, -1, NULL));
  assert_true (
      g_file_set_contents (secured_file (secured, "client-jaas.conf"), client_jaas, -1, NULL));
}

static GPtrArray *
java_options (Secured *secured, const char *means)
{
  GPtrArray *options = g_ptr_array_new_with_free_func (g_free);
  if (strstr (means, "tls") != NULL) {
    contest_add (options, "-Dzookeeper.client.secure=true");
    contest_add (options,
                 "-Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty");
    contest_add (options, "-Dzookeeper.ssl.trustStore.location=%s",
                 secured_file (secured, "ca.pem"));
    contest_add (options, "-Dzookeeper.ssl.trustStore.type=PEM");
    contest_add (options, "-Dzookeeper.ssl.keyStore.location=%s",
                 secured_file (secured, "client-java.pem"));
    contest_add (options, "-Dzookeeper.ssl.keyStore.type=PEM");
  }
  if (strstr (means, "sasl") != NULL) {
    contest_add (options, "-Djava.security.auth.login.config=%s",
                 secured_file (secured, "client-jaas.conf"));
  }
  g_ptr_array_add (options, NULL);
  return options;
}

/* Everyone may read; only this user of SASL, or any client with a certificate of the CA, may
 * write. */
static void
make_path (Secured *secured, const char *path, gboolean by_sasl)
{
  struct ACL entries[] = { { ZOO_PERM_READ, { (char *) "world", (char *) "anyone" } },
                           { ZOO_PERM_ALL, { (char *) "sasl", (char *) SASL_USER } } };
  const struct ACL_vector acl = { by_sasl ? 2 : 1, entries };
  entries[0].perms = by_sasl ? ZOO_PERM_READ : ZOO_PERM_ALL;
  assert_int_equal (raw_zk_make_path (secured->raw, path), ZOK);
  assert_int_equal (raw_zk_set_acl (secured->raw, path, &acl), ZOK);
}

static void
contend (Secured *secured, const Contested *what, const char *means, int total)
{
  const int each = (total + N_THREADS - 1) / N_THREADS;
  g_autofree char *path = g_strdup_printf ("/secured-%s/%s", means, what->recipe);
  const char *servers =
      strstr (means, "tls") != NULL ? secured->address : zk_server_address (secured->server);
  g_autofree char *connect = g_strdup_printf ("%s@%s@%s", means, secured->directory, servers);
  g_autoptr (GPtrArray) options = java_options (secured, means);
  const ContestPlan plan = { .connect_string = connect,
                             .java_connect_string = servers,
                             .java_options = (const char *const *) options->pdata,
                             .path = path,
                             .c_recipe = what->recipe,
                             .threads = THREADS,
                             .acquisitions = each,
                             .hold_ms = 1,
                             .limit = what->limit };
  make_path (secured, path, strstr (means, "sasl") != NULL);
  g_array_unref (assert_contest (secured->raw, &plan));
  print_message ("%s: %d acquisitions of %s\n", means, each * N_THREADS, what->recipe);
}

TEST (test_every_recipe)
{
  const char *given = g_getenv (TOTAL_VARIABLE);
  const int total = given != NULL ? (int) g_ascii_strtoll (given, NULL, 10) : SHORT_TOTAL;
  static const char *const all[] = { "tls", "sasl", "tls+sasl" };

  g_autofree char *classpath = g_strconcat (CONTEST_CLASSPATH, zk_netty_classpath (), NULL);
  assert_true (total > 0);
  write_java_files (secured);
  g_setenv (CONTEST_CLASSPATH_VARIABLE, classpath, TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS (contested); i++) {
    for (gsize j = 0; j < G_N_ELEMENTS (all); j++)
      if (given != NULL || j == i % G_N_ELEMENTS (all))
        contend (secured, &contested[i], all[j], total);
  }
}

SUITE ("interop: secured ensemble", secured_start, secured_stop)
