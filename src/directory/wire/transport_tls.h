// SPDX-License-Identifier: ISC
/* directory/wire/transport_tls.h - a TLS connection as a transport. */
#ifndef DIRECTORY_WIRE_TRANSPORT_TLS_H
#define DIRECTORY_WIRE_TRANSPORT_TLS_H

#include "directory/wire/transport.h"
#include "tls/connection.h"

/* Wraps CONNECTION, whose handshake is done, and owns it from now on. */
void directory_transport_tls(struct tls_connection *connection,
			     struct directory_transport *transport_out);

#endif
