/* Permissions under several ACLs; secrets wiped from memory; requests for TLS and SASL that
 * cannot be fulfilled. */
#include "integration/taking.h"
#include "memory_search.h"

#include "channel/channel_sasl.h"
#include "channel/tls_credentials.h"
#include "zk/features.h"

#include <curator/zookeeper.h>

#include <string.h>

#define SETTLE_MS 20000 /* no session expires meanwhile */
/* ZooKeeper's ids are variables, not constants. */
#define MAY_READ  (1 << 0)
#define MAY_WRITE (1 << 1)

typedef struct
{
  const char *name;
  const char *own;  /* user:password, or NULL */
  const char *team; /* the same, of the group */
} Identity;

enum
{
  JOE, /* the owner of the nodes that the others access */
  ANN,
  ADMIN,
  EVE, /* knows the group's name but not its password */
  NOBODY,
  N_IDENTITIES
};

static const Identity identities[N_IDENTITIES] = {
  [JOE] = { "joe", "joe:apple", "team:orange" }, [ANN] = { "ann", "ann:pear", "team:orange" },
  [ADMIN] = { "admin", "admin:fig", NULL },      [EVE] = { "eve", "eve:plum", "team:lemon" },
  [NOBODY] = { "nobody", NULL, NULL },
};

/* The group's permissions on a node whose creator has all of them; -1: everyone has all. The parent
 * of restricted nodes lets the group create, list and delete, and the admin do everything. */
static const struct
{
  const char *name;
  int team;
  /* For each identity: list, inspect, revoke, wait, break, acquire. */
  const char *expected[N_IDENTITIES];
} sets[] = {
  { "open", -1, { "yyyyyy", "yyyyyy", "yyyyyy", "yyyyyy", "yyyyyy" } },
  { "members", MAY_READ, { "yyyyyy", "yy-yyy", "y--yyy", "------", "------" } },
  { "revocable", MAY_READ | MAY_WRITE, { "yyyyyy", "yyyyyy", "y--yyy", "------", "------" } },
  { "private", 0, { "yyyyyy", "y--yyy", "y--yyy", "------", "------" } },
};

/* An ACL entry for "user:password", with an id as DigestAuthenticationProvider computes it. */
static struct ACL
entry_of (const char *credentials, int permissions)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA1);
  guint8 digest[20];
  gsize length = sizeof digest;
  g_checksum_update (checksum, (const guchar *) credentials, (gssize) strlen (credentials));
  g_checksum_get_digest (checksum, digest, &length);
  g_autofree char *base64 = g_base64_encode (digest, length);
  g_autofree char *user = g_strndup (credentials, strcspn (credentials, ":"));
  return (struct ACL){ .perms = permissions,
                       .id = { .scheme = (char *) "digest",
                               .id = g_strconcat (user, ":", base64, NULL) } };
}

static CuratorClient *
client_of (Fixture *fixture, const Identity *identity, int team)
{
  CuratorClient *client = client_new (fixture_server (fixture));
  curator_client_set_connection_timeout (client, LONG_MS);
  const char *const credentials[] = { identity->own, identity->team };
  for (gsize i = 0; i < G_N_ELEMENTS (credentials); i++)
    if (credentials[i] != NULL)
      curator_client_add_auth (client, "digest", credentials[i], strlen (credentials[i]));
  if (team >= 0 && identity->own != NULL) {
    struct ACL entries[] = { entry_of (identity->own, ZOO_PERM_ALL),
                             entry_of (identities[JOE].team, team) };
    const struct ACL_vector acl = { team > 0 ? 2 : 1, entries };
    curator_client_set_acl (client, &acl);
    g_free (entries[0].id.id);
    g_free (entries[1].id.id);
  }
  client_start (client);
  return client;
}

static RawZk *
raw_of (Fixture *fixture, const Identity *identity)
{
  RawZk *raw = raw_zk_open (fixture_server (fixture));
  assert_non_null (raw);
  if (identity->own != NULL)
    assert_int_equal (raw_zk_add_auth (raw, "digest", identity->own), ZOK);
  if (identity->team != NULL)
    assert_int_equal (raw_zk_add_auth (raw, "digest", identity->team), ZOK);
  return raw;
}

static void
make_parent (Fixture *fixture, const char *path, int team)
{
  struct ACL entries[] = { entry_of (identities[JOE].team,
                                     ZOO_PERM_CREATE | ZOO_PERM_READ | ZOO_PERM_DELETE),
                           entry_of (identities[ADMIN].own, ZOO_PERM_ALL) };
  const struct ACL_vector acl = { G_N_ELEMENTS (entries), entries };
  assert_int_equal (raw_zk_make_path (fixture->raw, path), ZOK);
  assert_int_equal (team >= 0 ? raw_zk_set_acl (fixture->raw, path, &acl) : ZOK, ZOK);
  g_free (entries[0].id.id);
  g_free (entries[1].id.id);
}

/* 'y' for a success, '-' for NOAUTH, '?' for anything else. Clears the error. */
static char
outcome (gboolean success, GError **error)
{
  char letter = success                                                     ? 'y'
                : g_error_matches (*error, CURATOR_ZK_ERROR, (int) ZNOAUTH) ? '-'
                                                                            : '?';
  if (letter == '?')
    print_error ("%s\n", *error != NULL ? (*error)->message : "no error");
  g_clear_error (error);
  return letter;
}

/* Joe's node, and an identity that accesses it. */
typedef struct
{
  Fixture *fixture;
  const char *path;
  CuratorLock *held;
  CuratorLease *lease;
  CuratorClient *client;
  CuratorLock *lock;
  RawZk *raw;
} Meeting;

static void
hold_again (Meeting *meeting)
{
  g_autoptr (GError) error = NULL;
  g_clear_pointer (&meeting->lease, curator_lease_unref);
  meeting->lease = curator_lock_acquire_lease (meeting->held, LONG_MS, NULL, &error);
  assert_ok (meeting->lease != NULL, &error);
}

static void
let_go (Meeting *meeting)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_lease_release (meeting->lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
}

static char
try_list (Meeting *meeting)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) nodes =
      curator_lock_get_participant_nodes (meeting->lock, CURATOR_WAIT_DEFAULT, NULL, &error);
  return outcome (nodes != NULL && g_strv_length (nodes) == 1, &error);
}

static char
try_inspect (Meeting *meeting)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorInspection) inspection =
      curator_client_inspect (meeting->client, meeting->path, CURATOR_WAIT_DEFAULT, NULL, &error);
  if (inspection == NULL || curator_inspection_get_n_participants (inspection) != 1)
    return outcome (FALSE, &error);
  const CuratorParticipant *joe = curator_inspection_get_participant (inspection, 0);
  return curator_participant_is_readable (joe) ? 'y' : '-';
}

static char
try_revoke (Meeting *meeting)
{
  g_autoptr (GError) error = NULL;
  gboolean written =
      curator_client_attempt_revoke (meeting->client, curator_lease_get_node_path (meeting->lease),
                                     CURATOR_WAIT_DEFAULT, NULL, &error);
  return outcome (written, &error);
}

/* Waits behind Joe. A node that may not be read is watched by exists. */
static char
try_wait (Meeting *meeting)
{
  g_autoptr (Taking) taking = taking_start_lock (meeting->lock, LONG_MS, NULL);
  if (raw_zk_count_children (meeting->raw, meeting->path) >= 0) {
    assert_children (meeting->fixture, meeting->path, 2, LONG_MS);
    assert_false (taking_has_returned (taking));
  } else {
    assert_true (taking_wait (taking, LONG_MS));
  }
  let_go (meeting);
  assert_true (taking_wait (taking, LONG_MS));
  char letter = outcome (taking->leases != NULL, &taking->error);
  taking_give_back (taking);
  hold_again (meeting);
  return letter;
}

/* Deletes Joe's node; his listener is called. */
static char
try_break (Meeting *meeting)
{
  int rc = raw_zk_delete (meeting->raw, curator_lease_get_node_path (meeting->lease));
  if (rc == ZOK) {
    assert_lease_state (meeting->lease, CURATOR_LEASE_STATE_LOST, LONG_MS);
    hold_again (meeting);
  }
  return rc == ZOK ? 'y' : rc == ZNOAUTH ? '-' : '?';
}

static char
try_acquire (Meeting *meeting)
{
  g_autoptr (GError) error = NULL;
  let_go (meeting);
  gboolean acquired = curator_lock_acquire (meeting->lock, LONG_MS, NULL, &error);
  char letter = outcome (acquired, &error);
  if (acquired)
    assert_released (meeting->lock);
  hold_again (meeting);
  return letter;
}

static char (*const tries[]) (Meeting *meeting) = { try_list, try_inspect, try_revoke,
                                                    try_wait, try_break,   try_acquire };

/* Five identities, six operations, four ACLs. Every refusal is NOAUTH and leaves no residue. */
TEST (test_acl_matrix)
{
  int wrong = 0;
  for (gsize s = 0; s < G_N_ELEMENTS (sets); s++) {
    g_autofree char *path = g_strdup_printf ("/acl/%s", sets[s].name);
    make_parent (fixture, path, sets[s].team);
    g_autoptr (CuratorClient) joe = client_of (fixture, &identities[JOE], sets[s].team);
    g_autoptr (CuratorLock) held = mutex_new (joe, path);
    RawZk *observer = g_steal_pointer (&fixture->raw);
    fixture->raw = raw_of (fixture, &identities[JOE]);
    for (int i = 0; i < N_IDENTITIES; i++) {
      char letters[G_N_ELEMENTS (tries) + 1] = "";
      Meeting meeting = { .fixture = fixture, .path = path, .held = held };
      meeting.client = client_of (fixture, &identities[i], sets[s].team);
      meeting.lock = mutex_new (meeting.client, path);
      meeting.raw = raw_of (fixture, &identities[i]);
      hold_again (&meeting);
      for (gsize k = 0; k < G_N_ELEMENTS (tries); k++)
        letters[k] = tries[k](&meeting);
      print_message ("%-10s %-7s %s\n", sets[s].name, identities[i].name, letters);
      wrong += strcmp (letters, sets[s].expected[i]) == 0 ? 0 : 1;
      let_go (&meeting);
      assert_no_residue (fixture, path, SETTLE_MS);
      curator_lease_unref (meeting.lease);
      curator_lock_unref (meeting.lock);
      curator_client_unref (meeting.client);
      raw_zk_close (meeting.raw);
    }
    raw_zk_close (fixture->raw);
    fixture->raw = observer;
  }
  assert_int_equal (wrong, 0);
}

/* Nodes that only their creator may read or write: the queue keeps its order. */
TEST (test_creator_only_queue)
{
  enum
  {
    N = 8
  };
  const char *path = "/acl/queue";
  Taking *takings[N];
  make_parent (fixture, path, 0);
  RawZk *observer = g_steal_pointer (&fixture->raw);
  fixture->raw = raw_of (fixture, &identities[JOE]);
  g_autoptr (CuratorClient) joe = client_of (fixture, &identities[JOE], 0);
  g_autoptr (CuratorClient) ann = client_of (fixture, &identities[ANN], 0);
  g_autoptr (CuratorLock) his = mutex_new (joe, path);
  g_autoptr (CuratorLock) hers = mutex_new (ann, path);
  for (int i = 0; i < N; i++) {
    takings[i] = taking_start_lock (i % 2 == 0 ? his : hers, 60000, NULL);
    assert_children (fixture, path, i + 1, LONG_MS);
  }
  for (int i = 0; i < N; i++) {
    taking_assert_granted (takings[i]);
    assert_true (i + 1 == N || !taking_has_returned (takings[i + 1]));
    taking_give_back (takings[i]);
    taking_free (takings[i]);
  }
  assert_no_residue (fixture, path, SETTLE_MS);
  raw_zk_close (fixture->raw);
  fixture->raw = observer;
}

/* Our copy of the credentials is wiped when the client is freed. */
TEST (test_secrets_are_wiped)
{
  char secret[24];
  for (gsize i = 0; i < sizeof secret; i++)
    secret[i] = (char) g_random_int_range ('a', 'z' + 1);
  CuratorClient *client = client_new (fixture_server (fixture));
  const guint own = memory_count (secret, sizeof secret); /* on this stack */
  curator_client_add_auth (client, "digest", secret, sizeof secret);
  assert_true (memory_count (secret, sizeof secret) > own);
  curator_client_unref (client);
  assert_int_equal (memory_count (secret, sizeof secret), own);
}

static void
assert_unsupported (const char *servers, const char *scheme)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (servers);
  if (scheme != NULL)
    curator_client_add_auth (client, scheme, "x", 1);
  if (curator_client_start (client, &error))
    fail_msg ("\"%s\" with %s should have been refused", servers, scheme);
  print_message ("%s: %s\n", servers, error->message);
  assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
}

/* A request for an encrypted connection must not get one in clear text. */
TEST (test_tls_and_sasl_are_refused)
{
  static const char *const asking[] = { "SSL://127.0.0.1", "ssl:127.0.0.1:2281", "sasl://zk1:2181",
                                        "127.0.0.1:2181, ssl://b", "tls:zk1/app" };
  static const char *const names[] = { "ssl:2281", "tls", "sasl:2181/app", "sslhost:2181" };
  static const char *const schemes[] = { "sasl", "SASL", "x509", "tls" };
  for (gsize i = 0; i < G_N_ELEMENTS (asking); i++)
    assert_unsupported (asking[i], NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (schemes); i++)
    assert_unsupported ("127.0.0.1:2181", schemes[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    assert_true (curator_features_check_connect_string (names[i], NULL));
  assert_int_equal (curator_features_check_connect_string ("TLS://zk1:1,tls://zk2", NULL), HAS_TLS);
  /* The library has the features that were found at configuration. */
  assert_int_equal (curator_tls_is_built_in (), HAS_TLS);
  assert_int_equal (curator_sasl_is_built_in (), HAS_SASL);
}

SUITE ("security", fixture_start_calm, fixture_stop)
