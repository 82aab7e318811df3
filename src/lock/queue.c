/* The order of a lock's queue: LockInternals.getSortedChildren of Curator.
 *
 * Threads: any; pure, so nothing guards it.
 *
 * NOTES: Java sorts by String.compareTo of the text behind the lock name. For ten digits that is
 * the order of the numbers, which is cheaper to compare; only negative numbers, which mean that the
 * counter broke, are compared as text. A tie is sorted writer first, then by name. Java leaves it
 * in the order of the server's listing; it makes no difference to a legal tie, because all its
 * nodes belong to one thread and at most one of them is a write node.
 */
#include "lock/queue.h"

#include "lock/wire.h"

#include <stdlib.h>
#include <string.h>

#define N_DIGITS 10 /* of a number that is not negative */
/* Numbers for each node, at most, where they are ordered by their places. */
#define MAX_SPREAD 4
/* So many nodes are sorted on the stack. */
#define ENTRIES_ON_STACK 8

typedef struct
{
  const char *name;
  const char *key; /* behind at least one character of name */
  gint64 number;
} Entry;

/* TRUE if the key directly follows text. */
static gboolean
key_follows (const Entry *entry, const char *text)
{
  gsize length = strlen (text);

  return (gsize) (entry->key - entry->name) >= length
         && memcmp (entry->key - length, text, length) == 0;
}

static int
compare_entries (const void *a, const void *b)
{
  const Entry *left = a;
  const Entry *right = b;

  if (left->number != right->number) {
    if (left->number >= 0 && right->number >= 0)
      return left->number < right->number ? -1 : 1;
    return strcmp (left->key, right->key);
  }
  gboolean left_writes = key_follows (left, CURATOR_WRITE_NAME);
  gboolean right_writes = key_follows (right, CURATOR_WRITE_NAME);
  if (left_writes != right_writes)
    return left_writes ? -1 : 1;
  return strcmp (left->name, right->name);
}

/* A writer that takes the read lock, too, names the read node after its write node's number. So the
 * later of two nodes with one number must be a reader, and the earlier one of the two kinds: as the
 * write node sorts first, that leaves at most one in a tie of any length. */
static gboolean
is_legal_tie (const Entry *earlier, const Entry *later)
{
  return key_follows (later, CURATOR_READ_NAME)
         && (key_follows (earlier, CURATOR_WRITE_NAME) || key_follows (earlier, CURATOR_READ_NAME));
}

/* g_ascii_isdigit () looks it up in a table. */
static inline gboolean
is_digit (char c)
{
  return c >= '0' && c <= '9';
}

gboolean
curator_queue_parse_number (const char *key, gint64 *number)
{
  g_return_val_if_fail (key != NULL, FALSE);

  gboolean negative = *key == '-';
  const char *digits = negative ? key + 1 : key;
  gint64 value = 0;
  int n = 0;

  while (n < 11 && is_digit (digits[n])) {
    value = value * 10 + (digits[n] - '0');
    n++;
  }
  /* "%010d" pads to ten characters, of which the sign is one. */
  gboolean well_formed =
      digits[n] == '\0'
      && (negative ? (n == 9 && value > 0) || (n == 10 && *digits != '0') : n == 10);
  value = negative ? -value : value;
  if (!well_formed || value < G_MININT32 || value > G_MAXINT32)
    return FALSE;
  if (number != NULL)
    *number = value;
  return TRUE;
}

/* The fast path: nearly every name ends with the lock's name and ten digits. There is no later
 * occurrence of the lock's name, unless it ends with a digit. */
static gboolean
ends_with_number (const char *name, gsize length, const char *lock_name, gsize lock_length)
{
  if (lock_length == 0 || g_ascii_isdigit (lock_name[lock_length - 1])
      || length < lock_length + N_DIGITS
      || memcmp (name + length - N_DIGITS - lock_length, lock_name, lock_length) != 0)
    return FALSE;
  for (gsize i = length - N_DIGITS; i < length; i++)
    if (!is_digit (name[i]))
      return FALSE;
  return TRUE;
}

const char *
curator_queue_standard_key (const char *name, const char *lock_name)
{
  g_return_val_if_fail (name != NULL && lock_name != NULL, name);
  const gsize length = strlen (name);
  const gsize lock_length = strlen (lock_name);

  if (ends_with_number (name, length, lock_name, lock_length))
    return name + length - N_DIGITS;
  const char *found = lock_length > 0 ? g_strrstr (name, lock_name) : NULL;
  return found != NULL ? found + lock_length : name;
}

const char *
curator_queue_recipe_of (const char *name)
{
  static const struct
  {
    const char *name;
    const char *recipe;
  } kinds[] = { { CURATOR_LOCK_NAME, "a mutex" },
                { CURATOR_LATCH_NAME, "a leader latch" },
                { CURATOR_READ_NAME, "a read-write lock" },
                { CURATOR_WRITE_NAME, "a read-write lock" } };

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    const char *key = curator_queue_standard_key (name, kinds[i].name);
    if (key != name && curator_queue_parse_number (key, NULL))
      return kinds[i].recipe;
  }
  return strcmp (name, CURATOR_LEASES_NAME) == 0 ? "a semaphore" : NULL;
}

static gboolean
is_beyond_the_end (gint64 number)
{
  return number < 0 || number > CURATOR_QUEUE_LAST_NUMBER;
}

/* The children that are lock nodes, in any order. */
static gsize
collect_entries (CuratorQueue *queue, Entry *entries, const char *const *children, gsize n_children,
                 CuratorQueueKeyFunc key, gpointer user_data)
{
  gsize n = 0;

  for (gsize i = 0; i < n_children; i++) {
    Entry entry = { .name = children[i], .key = key (children[i], user_data) };

    if (entry.key == NULL || entry.key <= entry.name
        || !curator_queue_parse_number (entry.key, &entry.number)) {
      queue->first_foreign = queue->n_foreign == 0 ? children[i] : queue->first_foreign;
      queue->other_recipe =
          queue->other_recipe != NULL ? queue->other_recipe : curator_queue_recipe_of (children[i]);
      queue->n_foreign++;
      continue;
    }
    queue->irregular = queue->irregular || is_beyond_the_end (entry.number);
    entries[n++] = entry;
  }
  return n;
}

/* One counter numbers all nodes, so most numbers are close together and occur once: their order is
 * known without a comparison. FALSE if it is not; then nothing has changed. */
static gboolean
order_by_place (Entry *entries, gsize n)
{
  gint64 least = G_MAXINT64;
  gint64 most = -1;

  if (n < 2)
    return TRUE;
  for (gsize i = 0; i < n; i++) {
    least = MIN (least, entries[i].number);
    most = MAX (most, entries[i].number);
  }
  if (least < 0 || most - least >= MAX_SPREAD * (gint64) n)
    return FALSE;
  const gsize n_places = (gsize) (most - least) + 1;
  g_autofree Entry *places = g_new0 (Entry, n_places);
  for (gsize i = 0; i < n; i++) {
    Entry *place = &places[entries[i].number - least];
    if (place->name != NULL)
      return FALSE;
    *place = entries[i];
  }
  for (gsize i = 0; i < n_places; i++) {
    *entries = places[i];
    entries += places[i].name != NULL ? 1 : 0;
  }
  return TRUE;
}

/* Room for n names, their end and their numbers, in one block. */
static void
allocate (CuratorQueue *queue, gsize n)
{
  queue->numbers = g_malloc (n * sizeof *queue->numbers + (n + 1) * sizeof *queue->names);
  queue->names = (char **) (queue->numbers + n);
}

void
curator_queue_init (CuratorQueue *queue, const char *const *children, gsize n_children,
                    CuratorQueueKeyFunc key, gpointer user_data)
{
  g_return_if_fail (queue != NULL && key != NULL);
  g_return_if_fail (children != NULL || n_children == 0);

  *queue = (CuratorQueue){ 0 };
  if (n_children == 0)
    return;
  Entry few[ENTRIES_ON_STACK];
  g_autofree Entry *many = n_children > ENTRIES_ON_STACK ? g_new (Entry, n_children) : NULL;
  Entry *entries = many != NULL ? many : few;
  gsize n = collect_entries (queue, entries, children, n_children, key, user_data);

  if (!order_by_place (entries, n))
    qsort (entries, n, sizeof *entries, compare_entries);
  allocate (queue, n);
  queue->n_names = n;
  for (gsize i = 0; i < n; i++) {
    queue->names[i] = (char *) entries[i].name;
    queue->numbers[i] = entries[i].number;
    if (i > 0 && entries[i].number == entries[i - 1].number
        && !is_legal_tie (&entries[i - 1], &entries[i]))
      queue->irregular = TRUE;
  }
  queue->names[n] = NULL;
}

static const char *
whole_key (const char *name, CuratorQueueKeyFunc key, gpointer user_data)
{
  const char *found = key (name, user_data);
  return found != NULL ? found : name;
}

void
curator_queue_insert (CuratorQueue *queue, const char *name, CuratorQueueKeyFunc key,
                      gpointer user_data)
{
  g_return_if_fail (queue != NULL && name != NULL && key != NULL);
  const char *own = whole_key (name, key, user_data);
  gsize place = 0;

  while (place < queue->n_names
         && strcmp (whole_key (queue->names[place], key, user_data), own) <= 0)
    place++;
  const CuratorQueue before = *queue;
  const gsize n_behind = before.n_names - place;
  allocate (queue, before.n_names + 1);
  if (before.n_names > 0) {
    memcpy (queue->names, before.names, place * sizeof *queue->names);
    memcpy (queue->numbers, before.numbers, place * sizeof *queue->numbers);
    memcpy (queue->names + place + 1, before.names + place, n_behind * sizeof *queue->names);
    memcpy (queue->numbers + place + 1, before.numbers + place, n_behind * sizeof *queue->numbers);
  }
  queue->names[place] = (char *) name;
  queue->names[before.n_names + 1] = NULL;
  /* Some number that leaves them rising. */
  queue->numbers[place] = place > 0 ? before.numbers[place - 1] : -1;
  g_free (before.numbers);
  g_clear_pointer (&queue->writers, g_free);
  queue->n_names++;
}

void
curator_queue_clear (CuratorQueue *queue)
{
  g_return_if_fail (queue != NULL);
  g_free (queue->numbers); /* and the names */
  g_free (queue->writers);
  *queue = (CuratorQueue){ 0 };
}

/* The first position whose number is not below number. */
static gsize
lower_bound (const CuratorQueue *queue, gint64 number)
{
  gsize low = 0;
  gsize high = queue->n_names;

  while (low < high) {
    const gsize middle = low + (high - low) / 2;
    if (queue->numbers[middle] < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

gssize
curator_queue_index_of (const CuratorQueue *queue, const char *name)
{
  g_return_val_if_fail (queue != NULL && name != NULL, -1);
  const gsize length = strlen (name);
  gint64 number = 0;
  /* Negative numbers do not rise with the order. */
  const gboolean rises = !queue->irregular && length >= N_DIGITS
                         && curator_queue_parse_number (name + length - N_DIGITS, &number);

  for (gsize i = rises ? lower_bound (queue, number) : 0;
       i < queue->n_names && (!rises || queue->numbers[i] == number); i++)
    if (strcmp (queue->names[i], name) == 0)
      return (gssize) i;
  return -1;
}

gboolean
curator_queue_is_exhausted (const CuratorQueue *queue, gsize index)
{
  g_return_val_if_fail (queue != NULL && index < queue->n_names, TRUE);
  return is_beyond_the_end (queue->numbers[index]);
}

static Entry
entry_at (const CuratorQueue *queue, gsize index)
{
  const char *name = queue->names[index];
  return (Entry){ .name = name, .key = name + strlen (name) - N_DIGITS };
}

const char *
curator_queue_twin_of (const CuratorQueue *queue, gsize index)
{
  g_return_val_if_fail (queue != NULL && index < queue->n_names, NULL);
  const gint64 number = queue->numbers[index];

  if (!queue->irregular || is_beyond_the_end (number))
    return NULL;
  for (gsize i = lower_bound (queue, number) + 1; i < queue->n_names && queue->numbers[i] == number;
       i++) {
    const Entry earlier = entry_at (queue, i - 1);
    const Entry later = entry_at (queue, i);
    if (!is_legal_tie (&earlier, &later))
      return i == index ? earlier.name : later.name;
  }
  return NULL;
}

gssize
curator_queue_writer_before (CuratorQueue *queue, gsize index)
{
  g_return_val_if_fail (queue != NULL && index < queue->n_names, -1);
  if (queue->writers == NULL) {
    gssize nearest = -1;
    queue->writers = g_new (gssize, queue->n_names);
    for (gsize i = 0; i < queue->n_names; i++) {
      queue->writers[i] = nearest;
      nearest = strstr (queue->names[i], CURATOR_WRITE_NAME) != NULL ? (gssize) i : nearest;
    }
  }
  return queue->writers[index];
}
