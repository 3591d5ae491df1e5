// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "tls/internal.h"
#include <stdlib.h>
#include <string.h>

/* RFC 7301 section 3.2: refuses a peer that offers protocols, but not ours. */
static int select_protocol(SSL *openssl, const unsigned char **selected, unsigned char *length,
			   const unsigned char *offered, unsigned offered_length, void *context)
{
	const unsigned char *own = context;
	unsigned char *found;

	(void)openssl;
	if (SSL_select_next_proto(&found, length, own, own[0] + 1u, offered, offered_length) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*selected = found;
	return SSL_TLSEXT_ERR_OK;
}

void tls_context_set_protocol(SSL_CTX *openssl, enum tls_side side, const char *protocol,
			      unsigned char kept[TLS_PROTOCOL_SIZE])
{
	size_t length = protocol != NULL ? strlen(protocol) : 0;

	if (length == 0)
		return;
	if (length >= TLS_PROTOCOL_SIZE)
		panic("the name of a protocol is too long");
	kept[0] = (unsigned char)length;
	memcpy(kept + 1, protocol, length);
	if (side == TLS_SERVER)
		SSL_CTX_set_alpn_select_cb(openssl, select_protocol, kept);
	else if (SSL_CTX_set_alpn_protos(openssl, kept, (unsigned)length + 1) != 0)
		panic("no memory for TLS");
}

void tls_context_free(struct tls_context *context)
{
	if (context == NULL)
		return;
	SSL_CTX_free(context->openssl);
	tls_identity_release(context->identity);
	free(context);
}
