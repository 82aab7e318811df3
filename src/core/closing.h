/* Waits for the end of a client: of its sessions, and of the threads of its lanes.
 *
 * A thread of the program's blocks, or a function is called. Guarded by the client's mutex. */
#pragma once

#include "core/client-record.h"

/* For the server and for callbacks: longer than a handle needs to close. */
#define CURATOR_CLOSE_PATIENCE_US (10 * G_USEC_PER_SEC)

void curator_closing_init (CuratorClient *client) CURATOR_LOCKED;
void curator_closing_clear (CuratorClient *client) CURATOR_LOCKED;

void curator_closing_lane_started (CuratorClient *client) CURATOR_LOCKED;
void curator_closing_lane_ended (CuratorClient *client) CURATOR_LOCKED;
void curator_closing_session_ended (CuratorClient *client) CURATOR_LOCKED;

/* Waits until the sessions are closed and the lanes have ended, with the mutex unlocked, for a
 * limited time. On a thread that serves a client it does not wait for lanes, nor for a session of
 * its own client unless that is the program's. */
void curator_closing_join (CuratorClient *client) CURATOR_LOCKED;
/* Runs func (data) once, right after an unlock, when all of them have ended. */
void curator_closing_then (CuratorClient *client, CuratorWork func, gpointer data) CURATOR_LOCKED;
/* Somebody waits so, for a session or for more than n_lanes lanes. */
gboolean curator_closing_is_awaited (CuratorClient *client, guint n_lanes) CURATOR_LOCKED;
/* It is too late: runs them now. */
void curator_closing_give_up (CuratorClient *client) CURATOR_LOCKED;
