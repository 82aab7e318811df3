/* C and Java contend on the paths of a secured ensemble: over TLS, over SASL, over both. Only those
 * who have authenticated may create nodes there. */
#include "integration/secured/secured.h"

#include "contest_test.h"

#include <string.h>

#define THREADS       4
#define N_C_PROCESSES 2
#define N_THREADS     ((N_C_PROCESSES + 1) * THREADS)
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
  const char *name;
  const char *recipe;
  int limit;
} Contested;

static const Contested contested[] = {
  { "mutex", "mutex", 1 },
  { "semmutex", "semmutex", 1 },
  { "semaphore", "semaphore:3", 3 },
  { "rw", "rw", 0 },
};

typedef enum
{
  BY_TLS = 1,
  BY_SASL = 2
} Means;

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

static void
add_option (GPtrArray *options, const char *name, const char *value)
{
  g_ptr_array_add (options, g_strdup_printf ("-D%s=%s", name, value));
}

static GPtrArray *
java_options (Secured *secured, Means means)
{
  GPtrArray *options = g_ptr_array_new_with_free_func (g_free);
  if (means & BY_TLS)
    {
      add_option (options, "zookeeper.client.secure", "true");
      add_option (options, "zookeeper.clientCnxnSocket",
                  "org.apache.zookeeper.ClientCnxnSocketNetty");
      add_option (options, "zookeeper.ssl.trustStore.location", secured_file (secured, "ca.pem"));
      add_option (options, "zookeeper.ssl.trustStore.type", "PEM");
      add_option (options, "zookeeper.ssl.keyStore.location",
                  secured_file (secured, "client-java.pem"));
      add_option (options, "zookeeper.ssl.keyStore.type", "PEM");
    }
  if (means & BY_SASL)
    {
      add_option (options, "java.security.auth.login.config",
                  secured_file (secured, "client-jaas.conf"));
    }
  g_ptr_array_add (options, NULL);
  return options;
}

static void
set_variable (const char *name, gboolean wanted, const char *value)
{
  if (wanted)
    g_setenv (name, value, TRUE);
  else
    g_unsetenv (name);
}

/* Everyone may read; only this user of SASL, or any client with a certificate of the CA, may
 * write. */
static void
make_path (Secured *secured, const char *path, Means means)
{
  struct ACL entries[] = { { ZOO_PERM_READ, { (char *) "world", (char *) "anyone" } },
                           { ZOO_PERM_ALL, { (char *) "sasl", (char *) SASL_USER } } };
  const struct ACL_vector acl = { means & BY_SASL ? 2 : 1, entries };
  entries[0].perms = means & BY_SASL ? ZOO_PERM_READ : ZOO_PERM_ALL;
  assert_int_equal (raw_zk_make_path (secured->raw, path), ZOK);
  assert_int_equal (raw_zk_set_acl (secured->raw, path, &acl), ZOK);
}

static void
contend (Secured *secured, const Contested *what, Means means, int total)
{
  const int each = (total + N_THREADS - 1) / N_THREADS;
  const ContestProcess processes[] = { { what->recipe, FALSE, THREADS, each },
                                       { what->recipe, FALSE, THREADS, each },
                                       { what->recipe, TRUE, THREADS, each },
                                       { NULL, FALSE, 0, 0 } };
  g_autofree char *path = g_strdup_printf ("/secured-%d/%s", (int) means, what->name);
  g_autofree char *tls_connect = g_strconcat ("tls://", secured->address, NULL);
  g_autoptr (GPtrArray) options = java_options (secured, means);
  const char *clear = zk_server_address (secured->server);
  const ContestPlan plan = { .connect_string = means & BY_TLS ? tls_connect : clear,
                             .java_connect_string = means & BY_TLS ? secured->address : clear,
                             .java_options = (const char *const *) options->pdata,
                             .path = path,
                             .processes = processes,
                             .hold_ms = 1,
                             .limit = what->limit };
  make_path (secured, path, means);
  set_variable (CONTEST_TLS, means & BY_TLS, secured->directory);
  set_variable (CONTEST_SASL, means & BY_SASL, SASL_USER ":" SASL_PASSWORD);
  g_autoptr (GArray) events = contest_run (&plan, 120000 + total * 50);
  assert_non_null (events);
  assert_good_history (events);
  assert_int_equal (contest_grants (events, 0), each * N_THREADS);
  assert_int_equal (contest_grants (events, 3), each * THREADS);
  print_message ("%s%s%s: %d acquisitions of %s\n", means & BY_TLS ? "TLS" : "",
                 means == (BY_TLS | BY_SASL) ? " and " : "", means & BY_SASL ? "SASL" : "",
                 each * N_THREADS, what->name);
}

TEST (test_every_recipe)
{
  const char *given = g_getenv (TOTAL_VARIABLE);
  const int total = given != NULL ? (int) g_ascii_strtoll (given, NULL, 10) : SHORT_TOTAL;
  const Means all[] = { BY_TLS, BY_SASL, BY_TLS | BY_SASL };

  g_autofree char *classpath = g_strconcat (CONTEST_CLASSPATH, zk_netty_classpath (), NULL);
  assert_true (total > 0);
  write_java_files (secured);
  g_setenv (CONTEST_CLASSPATH_VARIABLE, classpath, TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS (contested); i++)
    {
      for (gsize j = 0; j < G_N_ELEMENTS (all); j++)
        if (given != NULL || j == i % G_N_ELEMENTS (all))
          contend (secured, &contested[i], all[j], total);
    }
}

SUITE ("interop: secured ensemble", secured_start, secured_stop)
