# SPDX-License-Identifier: Apache-2.0
# Two bugs of channel/link_server.c, for curator_plant_source (): bytes after a login are passed on, and a login is skipped if the
# server says that there is no session.
set(channel_plant_bytes_behind_a_login
    "if (curator_buffer_length (&link->to_client) == 0)" "if (TRUE)"
    "  memcpy (buffer->bytes, link->response, link->response_size)@
  buffer->end = link->response_size@"
    "  const gsize n = curator_buffer_length (buffer)@
  memmove (buffer->bytes + link->response_size, curator_buffer_data (buffer), n)@
  memcpy (buffer->bytes, link->response, link->response_size)@
  buffer->start = 0@
  buffer->end = link->response_size + n@")
set(channel_plant_login_skipped_without_a_session
    "else if (told->session_id == 0 && told->timeout_ms <= 0 && link->asked.session_id != 0)" "else if (TRUE)"
    "pass_response (link, CURATOR_LINK_SERVER_LOST)@" "pass_response (link, CURATOR_LINK_OPEN)@")
