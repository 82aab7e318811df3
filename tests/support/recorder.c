#include "recorder.h"

#include "support/waiting.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC G_GUINT64_CONSTANT (0x4352454344303031)

typedef struct
{
  guint64 magic;
  guint64 capacity;
  guint64 used; /* written with release order, after the record itself */
  guint64 dropped;
  guint64 spare[4];
} LogHeader;

struct _Recorder
{
  LogHeader *header;
  RecordEvent *events;
  gsize size;
  int process;
  int thread;
};

Recorder *
recorder_open (const char *directory, int process, int thread, gsize capacity)
{
  g_autofree char *path = g_strdup_printf ("%s/%d-%d.log", directory, process, thread);
  g_autofree char *unfinished = g_strconcat (path, ".new", NULL);
  gsize size = sizeof (LogHeader) + capacity * sizeof (RecordEvent);
  int fd = open (unfinished, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  void *memory = MAP_FAILED;
  if (fd >= 0 && ftruncate (fd, (off_t) size) == 0)
    memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0)
    close (fd);
  if (memory == MAP_FAILED)
    return NULL;
  Recorder *recorder = g_new0 (Recorder, 1);
  recorder->header = memory;
  recorder->events = (RecordEvent *) (gpointer) ((guint8 *) memory + sizeof (LogHeader));
  recorder->size = size;
  recorder->process = process;
  recorder->thread = thread;
  recorder->header->magic = MAGIC;
  recorder->header->capacity = capacity;
  /* A reader during the recording finds complete logs only. A second recorder must not replace the
   * first one's log. */
  if (link (unfinished, path) != 0)
    g_clear_pointer (&recorder, recorder_close);
  unlink (unfinished);
  return recorder;
}

void
recorder_close (Recorder *recorder)
{
  if (recorder != NULL) {
    munmap (recorder->header, recorder->size);
    g_free (recorder);
  }
}

void
recorder_add (Recorder *recorder, RecordEvent event)
{
  LogHeader *header = recorder->header;
  if (header->used == header->capacity) {
    header->dropped++;
    return;
  }
  event.time_ns = event.time_ns != 0 ? event.time_ns : wait_now_ns ();
  event.process = recorder->process;
  event.thread = recorder->thread;
  event.serial = (guint32) header->used;
  recorder->events[header->used] = event;
  __atomic_store_n (&header->used, header->used + 1, __ATOMIC_RELEASE);
}

static gboolean
read_log (const char *path, GArray *events)
{
  g_autofree char *text = NULL;
  gsize length = 0;
  LogHeader header;
  if (!g_file_get_contents (path, &text, &length, NULL) || length < sizeof header) {
    g_printerr ("%s: not a log\n", path);
    return FALSE;
  }
  memcpy (&header, text, sizeof header);
  if (header.magic != MAGIC || header.dropped != 0
      || length < sizeof header + header.used * sizeof (RecordEvent)) {
    g_printerr ("%s: damaged, or %" G_GUINT64_FORMAT " events did not fit\n", path, header.dropped);
    return FALSE;
  }
  for (guint64 i = 0; i < header.used; i++) {
    RecordEvent event;
    memcpy (&event, text + sizeof header + i * sizeof event, sizeof event);
    g_array_append_val (events, event);
  }
  return TRUE;
}

static int
compare_events (gconstpointer a, gconstpointer b)
{
  const RecordEvent *left = a;
  const RecordEvent *right = b;
  if (left->time_ns != right->time_ns)
    return left->time_ns < right->time_ns ? -1 : 1;
  return (left->serial > right->serial) - (left->serial < right->serial);
}

void
recorder_sort (GArray *events)
{
  g_array_sort (events, compare_events);
}

static gboolean
read_logs (const char *directory, const char *prefix, GArray *events)
{
  GDir *dir = g_dir_open (directory, 0, NULL);
  gboolean fine = dir != NULL;
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (directory, name, NULL);
    const gboolean wanted = g_str_has_suffix (name, ".log") && g_str_has_prefix (name, prefix);
    fine = (!wanted || read_log (path, events)) && fine;
  }
  g_clear_pointer (&dir, g_dir_close);
  recorder_sort (events);
  return fine;
}

gboolean
recorder_read_all (const char *directory, GArray *events)
{
  return read_logs (directory, "", events);
}

gboolean
recorder_read_process (const char *directory, int process, GArray *events)
{
  g_autofree char *prefix = g_strdup_printf ("%d-", process);
  return read_logs (directory, prefix, events);
}

/* The worker names a grant's node only once; its release is matched by thread. */
static guint64
last_token_of (GArray *events, const RecordEvent *of)
{
  for (guint i = events->len; i > 0; i--) {
    const RecordEvent *event = &g_array_index (events, RecordEvent, i - 1);
    if (event->process == of->process && event->thread == of->thread && event->lock == of->lock
        && event->op == RECORD_ACQUIRE_RETURNED)
      return event->token;
  }
  return 0;
}

gboolean
recorder_import_line (const char *line, const RecordEvent *model, GArray *events)
{
  RecordEvent event = *model;
  char word[16];
  char node[512];
  gint64 time_ns = 0;
  guint64 token = 0;
  int thread = 0;
  int n = sscanf (line, "%15s %d %" G_GINT64_FORMAT " %511s %" G_GUINT64_FORMAT, word, &thread,
                  &time_ns, node, &token);
  event.thread = thread;
  event.time_ns = time_ns;
  event.serial = events->len;
  if (n == 3 && strcmp (word, "QUEUED") == 0) {
    event.op = RECORD_ACQUIRE_CALLED;
  } else if (n == 5 && strcmp (word, "GRANTED") == 0) {
    event.op = RECORD_ACQUIRE_RETURNED;
    event.token = token;
  } else if (n == 3 && strcmp (word, "RELEASED") == 0) {
    event.op = RECORD_RELEASE_CALLED;
    event.token = last_token_of (events, &event);
    g_array_append_val (events, event);
    event.op = RECORD_RELEASE_RETURNED;
    event.serial++;
  } else {
    return FALSE;
  }
  g_array_append_val (events, event);
  return TRUE;
}

const char *
record_op_to_string (RecordOp op)
{
  static const char *const names[RECORD_N_OPS] = {
    "acquire called", "acquire returned", "release called", "release returned",
    "lost",           "deadline",         "session ended",  "process died",
    "resource write", "suspect",          "sample",         "stall",
    "node taken"
  };
  return op < RECORD_N_OPS ? names[op] : "?";
}
