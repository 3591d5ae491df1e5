// SPDX-License-Identifier: ISC
/* What a client's connection presents: a certificate whose key a signer has. */
#include "base/panic.h"
#include "tls/internal_connection.h"

void tls_connection_present(struct tls_connection *connection, const struct tls_context *identity)
{
	if (connection->identity != NULL || identity->identity == NULL)
		panic("a client presents one certificate of an identity");
	connection->identity = tls_identity_hold(identity->identity);
	(void)SSL_set_mode(connection->openssl, SSL_MODE_ASYNC);
	tls_identity_present(identity->identity, connection->openssl);
}
