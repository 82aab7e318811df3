/* The ops table for a connection with TLS or SASL: libzookeeper behind a channel. */
#pragma once

#include "core/client-record.h"

/* Uses the servers, TLS and SASL of the client, which frees the table at its end. */
CuratorZkOps *curator_zk_ops_secured (CuratorClient *client);
