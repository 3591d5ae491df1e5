// SPDX-License-Identifier: ISC
/* directory/transport_tls.h - a connection by TLS as a transport. */
#ifndef DIRECTORY_TRANSPORT_TLS_H
#define DIRECTORY_TRANSPORT_TLS_H

#include "directory/transport.h"
#include "tls/connection.h"

/* Around CONNECTION, whose handshake is done, and which it owns from now on. */
void directory_transport_tls(struct tls_connection *connection,
			     struct directory_transport *transport_out);

#endif
