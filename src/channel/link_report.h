/* Tells the client why a server will not do. Used by the channel's thread only; no lock. */
#pragma once

#include "channel/link_record.h"

/* Of the server whose turn it is. is_final: no other one is tried. */
void curator_link_report (CuratorLink *link, const GError *error, gboolean is_final);
/* libzookeeper is about to get that server's answer. */
void curator_link_report_open (CuratorLink *link);
/* An open link has lost its server before anything was answered. */
void curator_link_report_loss (CuratorLink *link, const GError *error);
