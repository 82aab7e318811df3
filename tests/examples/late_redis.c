#define main example_main
int example_main (int argc, char **argv);
#include "examples/fencing_redis.c"

#include "late_writer.h"

const gboolean late_resource_stops = FALSE;
static redisContext *redis;
static gboolean keeps;

void
late_open (const char *resource, gboolean stops)
{
  redis = redisConnectUnix (resource);
  keeps = keeps_tokens (redis);
}

void
late_close (void)
{
  redisFree (redis);
}

gboolean
late_write_guarded (const char *name, guint64 token, const char *body)
{
  return keeps && write_fenced (redis, name, token, body);
}

gboolean
late_write_plain (const char *name, guint64 token, const char *body)
{
  redisReply *reply = redisCommand (redis, "HSET %s body %s", name, body);
  const gboolean written = reply != NULL && reply->type == REDIS_REPLY_INTEGER;
  freeReplyObject (reply);
  return written;
}
