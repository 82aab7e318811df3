/* SPDX-License-Identifier: Apache-2.0
 * Fencing in an object store: the object begins with the highest token that wrote it. A writer
 * reads that first, and the store refuses its PUT if the object has changed since: If-Match.
 *
 * usage: fencing_put CONNECT-STRING URL
 */
#include <curator/curator.h>
#include <curl/curl.h>

static size_t
append (char *data, size_t size, size_t n, void *text)
{
  g_string_append_len (text, data, (gssize) (size * n));
  return size * n;
}

/* Returns the HTTP status, 0 if there is none. body: NULL for a GET, which appends to text. */
static long
request (CURL *curl, const char *url, const char *condition, const char *body, GString *text)
{
  struct curl_slist *headers = condition != NULL ? curl_slist_append (NULL, condition) : NULL;
  long status = 0;
  curl_easy_reset (curl);
  curl_easy_setopt (curl, CURLOPT_URL, url);
  curl_easy_setopt (curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt (curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt (curl, CURLOPT_WRITEDATA, text);
  if (body != NULL) {
    curl_easy_setopt (curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt (curl, CURLOPT_CUSTOMREQUEST, "PUT");
  }
  if (curl_easy_perform (curl) == CURLE_OK)
    curl_easy_getinfo (curl, CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all (headers);
  return status;
}

/* Returns FALSE if a later holder has written already, or the store failed. */
static gboolean
write_fenced (CURL *curl, const char *url, guint64 token, const char *body)
{
  g_autofree char *object = g_strdup_printf ("%" G_GUINT64_FORMAT " %s", token, body);
  long status;
  do {
    g_autoptr (GString) answer = g_string_new (NULL);
    struct curl_header *etag = NULL;
    status = request (curl, url, NULL, NULL, answer);
    if ((status != 200 && status != 404)
        || (status == 200 && g_ascii_strtoull (answer->str, NULL, 10) > token))
      return FALSE;
    curl_easy_header (curl, "ETag", 0, CURLH_HEADER, -1, &etag);
    g_autofree char *condition = status == 404  ? g_strdup ("If-None-Match: *")
                                 : etag != NULL ? g_strconcat ("If-Match: ", etag->value, NULL)
                                                : NULL;
    if (condition == NULL)
      return FALSE;
    status = request (curl, url, condition, object, answer);
  } while (status == 412); /* somebody has written since: who was it? */
  return status >= 200 && status < 300;
}

/* Acquires and releases the lock. Returns the fencing token, or 0. */
static guint64
take_turn (CuratorLock *lock)
{
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire (lock, 10000, NULL, NULL) ? curator_lock_dup_lease (lock) : NULL;
  guint64 token = lease != NULL ? curator_lease_get_fencing_token (lease) : 0;
  return lease != NULL && curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL) ? token : 0;
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  const char *url = argc > 2 ? argv[2] : "http://localhost:8080/nightly";
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/fencing-put", NULL);
  CURL *curl = curl_easy_init ();
  gboolean started = curator_client_start (client, NULL);
  guint64 first = started ? take_turn (lock) : 0;
  guint64 second = first != 0 ? take_turn (lock) : 0;
  gboolean fenced = second != 0 && write_fenced (curl, url, first, "begun")
                    && write_fenced (curl, url, second, "done")
                    /* The first holder was suspended and now continues. */
                    && !write_fenced (curl, url, first, "half done, too late");
  g_print ("tokens %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT ": %s\n", first, second,
           fenced ? "the late write was refused" : "NOT FENCED");
  curl_easy_cleanup (curl);
  return fenced ? 0 : 1;
}
