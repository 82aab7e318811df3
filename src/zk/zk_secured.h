/* The ops table for a connection with TLS or SASL: libzookeeper behind a channel. */
#ifndef CURATOR_ZK_SECURED_H
#define CURATOR_ZK_SECURED_H

#include "core/client-record.h"

/* Uses the servers, TLS and SASL of the client, which frees the table at its end. */
CuratorZkOps *curator_zk_ops_secured (CuratorClient *client);

#endif
