/* A program with a ZooKeeper handle and a watcher of its own. */
#pragma once

#include "fixture.h"

#include <curator/zookeeper.h>

typedef struct
{
  zhandle_t *zh;  /* NULL once it has expired: the watcher has closed it */
  int n_forwards; /* how often it forwards each event; 1 unless set */
  pthread_mutex_t mutex;
  CuratorClient *client; /* the client it forwards to; mutex guards this and the next */
  GPtrArray *fired;      /* paths of watches */
  gint expired;          /* atomic */
} Program;

/* Does not wait for the connection. Its session: LONG_SESSION_MS. address may have a chroot. */
Program *program_open (const char *address);
void program_close (Program *program); /* its handle too; NULL is allowed */
/* A client over the program's handle, which from now on forwards events to it; its calls
 * wait for LONG_MS. Closed with the program, at the latest. */
CuratorClient *program_client (Program *program);
/* Opens another handle after an expiry. The client is not notified. */
void program_open_again (Program *program, const char *address);

/* The watcher to give to zoo_w… calls, with the program as context. */
void program_watcher (zhandle_t *zh, int type, int state, const char *path, void *program);
gboolean program_wait_connected (Program *program, int timeout_ms);
gboolean program_wait_expired (Program *program, int timeout_ms);
gboolean program_wait_fired (Program *program, const char *path, int timeout_ms);
gint64 program_session (Program *program);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Program, program_close)
