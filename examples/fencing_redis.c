/* SPDX-License-Identifier: Apache-2.0
 * Fencing in Redis: each key is a hash of a body and the highest token that wrote it, and a script,
 * which no other command interrupts, refuses a lower token.
 *
 * As it comes, Redis answers before anything is on its disk, and forgets tokens that it has
 * accepted when it ends: it needs "appendonly yes" and "appendfsync always".
 *
 * usage: fencing_redis CONNECT-STRING [SOCKET]
 */
#include <curator/curator.h>
#include <hiredis/hiredis.h>

/* Lua's numbers are exact up to 2^53 only, so tokens are compared as texts of equal length. */
#define TOKEN "%020" G_GINT64_MODIFIER "u"
#define WRITE                                                                                      \
  "local highest = redis.call ('HGET', KEYS[1], 'token')"                                          \
  " if highest and highest > ARGV[1] then return 0 end"                                            \
  " redis.call ('HSET', KEYS[1], 'token', ARGV[1], 'body', ARGV[2])"                               \
  " return 1"

static int
fail (const char *what)
{
  g_printerr ("fencing_redis: %s\n", what);
  return 1;
}

static gboolean
has_setting (redisContext *redis, const char *name, const char *value)
{
  redisReply *reply = redisCommand (redis, "CONFIG GET %s", name);
  const gboolean has =
      reply != NULL && reply->elements == 2 && g_strcmp0 (reply->element[1]->str, value) == 0;
  freeReplyObject (reply);
  return has;
}

/* For each connection, before it is written to. */
static gboolean
keeps_tokens (redisContext *redis)
{
  return has_setting (redis, "appendonly", "yes") && has_setting (redis, "appendfsync", "always");
}

/* Returns FALSE if a later holder has written already, or Redis failed. */
static gboolean
write_fenced (redisContext *redis, const char *key, guint64 token, const char *body)
{
  char number[24];
  g_snprintf (number, sizeof number, TOKEN, token);
  redisReply *reply = redisCommand (redis, "EVAL %s 1 %s %s %s", WRITE, key, number, body);
  const gboolean written =
      reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
  freeReplyObject (reply);
  return written;
}

/* Acquires and releases the lock. Returns the fencing token, or 0 with error. */
static guint64
take_turn (CuratorLock *lock, GError **error)
{
  if (!curator_lock_acquire (lock, 10000, NULL, error))
    return 0;
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  guint64 token = curator_lease_get_fencing_token (lease);
  return curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, error) ? token : 0;
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  if (!curator_client_start (client, &error))
    return fail (error->message);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/fencing-redis", NULL);
  guint64 first = take_turn (lock, &error);
  guint64 second = first != 0 ? take_turn (lock, &error) : 0;
  if (second == 0)
    return fail (error->message);

  redisContext *redis = argc > 2 ? redisConnectUnix (argv[2]) : redisConnect ("localhost", 6379);
  if (redis == NULL || redis->err != 0)
    return fail (redis != NULL ? redis->errstr : "no memory");
  if (!keeps_tokens (redis))
    return fail ("this Redis forgets tokens: set appendonly to yes and appendfsync to always");
  gboolean fenced = write_fenced (redis, "nightly", first, "begun")
                    && write_fenced (redis, "nightly", second, "done")
                    /* The first holder was suspended and now continues. */
                    && !write_fenced (redis, "nightly", first, "half done, too late");
  g_print ("tokens %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT ": %s\n", first, second,
           fenced ? "the late write was refused" : "NOT FENCED");
  redisFree (redis);
  return fenced ? 0 : 1;
}
