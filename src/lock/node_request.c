/* The node that an attempt is to create, as its driver or recipe describes it (CreateBuilder).
 *
 * Threads: any; no lock, because a request belongs to one attempt.
 */
#include "base/tag.h"
#include "core/payload.h"
#include "curator/lease.h"
#include "lock/lock_internals-private.h"
#include "nodes/uuid.h"

#include <string.h>

CuratorNodeRequest *
curator_node_request_default (void)
{
  static CuratorNodeRequest plain = {
    .tag = CURATOR_TAG_NODE_REQUEST, .is_sequential = TRUE, .is_ephemeral = TRUE, .protected_ = TRUE
  };
  return &plain;
}

CuratorNodeRequest *
curator_node_request_new (const char *name)
{
  CuratorNodeRequest *request = g_new (CuratorNodeRequest, 1);
  *request = *curator_node_request_default ();
  request->name = g_strdup (name);
  return request;
}

void
curator_node_request_renew_guid (CuratorNodeRequest *request, CuratorClient *client)
{
  if (!request->has_guid)
    return;
  gsize length;
  const char *address = g_bytes_get_data (client->default_data, &length);
  char uuid[CURATOR_UUID_SIZE];
  curator_uuid_write (client, uuid);
  g_autofree char *payload = g_strdup_printf ("%.*s %s", (int) length, address, uuid);

  curator_node_request_set_data (request, payload, strlen (payload));
}

/* Nodes without a number exclude each other by having the same name, so they get no GUID in the
 * name. A persistent one gets it in its data: that is how we find it when the reply to its creation
 * is lost. */
CuratorNodeRequest *
curator_node_request_ask (CuratorLockInternals *internals)
{
  CuratorLockDriver *driver = internals->driver;
  CuratorNodeRequest *request = curator_node_request_new (internals->lock_name);

  driver->funcs.creates_the_lock (driver, request, driver->user_data);
  request->protected_ = request->protected_ && request->is_sequential;
  request->has_guid = !request->protected_ && !request->is_ephemeral && request->data == NULL;
  return request;
}

void
curator_node_request_free (CuratorNodeRequest *request)
{
  if (request == curator_node_request_default ())
    return;
  g_free (request->name);
  g_clear_pointer (&request->data, g_bytes_unref);
  g_clear_pointer (&request->required_hold, curator_lease_unref);
  curator_tag_clear (request);
  g_free (request);
}

CURATOR_GETTER (const char *, curator_node_request_get_name, const CuratorNodeRequest, NODE_REQUEST,
                name, NULL)

void
curator_node_request_set_name (CuratorNodeRequest *request, const char *name)
{
  g_return_if_fail (CURATOR_IS_NODE_REQUEST (request) && name != NULL
                    && strchr (name, '/') == NULL);
  char *copy = g_strdup (name);
  g_free (request->name);
  request->name = copy;
}

void
curator_node_request_set_mode (CuratorNodeRequest *request, CuratorCreateMode mode)
{
  g_return_if_fail (CURATOR_IS_NODE_REQUEST (request) && mode >= CURATOR_CREATE_MODE_PERSISTENT
                    && mode <= CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL);
  request->is_sequential = mode == CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL
                           || mode == CURATOR_CREATE_MODE_PERSISTENT_SEQUENTIAL;
  request->is_ephemeral =
      mode == CURATOR_CREATE_MODE_EPHEMERAL || mode == CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL;
}

void
curator_node_request_set_data (CuratorNodeRequest *request, const void *data, gsize length)
{
  g_return_if_fail (CURATOR_IS_NODE_REQUEST (request) && (data != NULL || length == 0));
  g_clear_pointer (&request->data, g_bytes_unref);
  request->data = curator_payload_new (data, length);
}

void
curator_node_request_set_protected (CuratorNodeRequest *request, gboolean protected_)
{
  g_return_if_fail (CURATOR_IS_NODE_REQUEST (request));
  request->protected_ = protected_;
}
