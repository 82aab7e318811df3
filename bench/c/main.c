/* The rig's peer for this library: reads requests and executes them one after the other.
 *
 * Threads: the main thread; verbs start others and join them.
 */
#include "peer.h"

#include <stdio.h>
#include <string.h>

static void
obey (char *line)
{
  static const struct
  {
    const char *name;
    void (*function) (const Request *request);
  } verbs[] = {
    { "solo", verb_solo },           { "crowd", verb_crowd },      { "waiters", verb_waiters },
    { "line", verb_line },           { "paths", verb_paths },      { "hold", verb_hold },
    { "reentrant", verb_reentrant }, { "idle", verb_idle },        { "try", verb_try },
    { "fleet", verb_fleet },         { "sessions", verb_sessions }
  };
  g_auto (GStrv) words = g_strsplit (g_strchomp (line), " ", -1);
  g_autoptr (GHashTable) values = g_hash_table_new (g_str_hash, g_str_equal);
  Request request = { words[0], values };
  for (char **word = words + 1; words[0] != NULL && *word != NULL; word++) {
    char *equals = strchr (*word, '=');
    if (equals != NULL) {
      *equals = '\0';
      g_hash_table_insert (values, *word, equals + 1);
    }
  }
  for (gsize i = 0; i < G_N_ELEMENTS (verbs); i++) {
    if (g_strcmp0 (request.verb, verbs[i].name) == 0) {
      verbs[i].function (&request);
      return;
    }
  }
  peer_die (line, NULL);
}

int
main (void)
{
  char line[4096];
  peer_init ();
  while (fgets (line, sizeof line, stdin) != NULL)
    obey (line);
  peer_clear ();
  return 0;
}
