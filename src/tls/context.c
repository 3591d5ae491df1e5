// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "tls/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* RFC 7301 section 3.2: refuses a peer that offers protocols, but not ours. */
static int select_protocol(SSL *openssl, const unsigned char **selected, unsigned char *length,
			   const unsigned char *offered, unsigned offered_length, void *context)
{
	const struct tls_context *own = context;
	unsigned char *found;

	(void)openssl;
	if (SSL_select_next_proto(&found, length, own->protocol, own->protocol[0] + 1u, offered,
				  offered_length) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*selected = found;
	return SSL_TLSEXT_ERR_OK;
}

static void set_protocol(struct tls_context *context, const char *protocol)
{
	size_t length = protocol != NULL ? strlen(protocol) : 0;

	if (length == 0)
		return;
	if (length >= sizeof context->protocol)
		panic("the name of a protocol is too long");
	context->protocol[0] = (unsigned char)length;
	memcpy(context->protocol + 1, protocol, length);
	if (context->side == TLS_SERVER)
		SSL_CTX_set_alpn_select_cb(context->openssl, select_protocol, context);
	else if (SSL_CTX_set_alpn_protos(context->openssl, context->protocol,
					 (unsigned)length + 1) != 0)
		panic("no memory for TLS");
}

int tls_context_open(enum tls_side side, const struct tls_settings *settings,
		     struct tls_context **context_out, struct buffer *reason)
{
	struct tls_context *context = memory_alloc_zero(1, sizeof *context);
	int error;

	context->side = side;
	context->openssl =
		SSL_CTX_new(side == TLS_SERVER ? TLS_server_method() : TLS_client_method());
	if (context->openssl == NULL)
		panic("no memory for TLS");
	tls_context_set_rules(context->openssl);
	set_protocol(context, settings->protocol);
	error = tls_files_read(context, settings, reason);
	if (error < 0) {
		tls_context_free(context);
		return error;
	}
	SSL_CTX_set_verify(context->openssl,
			   context->has_authority
				   ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
				   : SSL_VERIFY_NONE,
			   NULL);
	*context_out = context;
	return 0;
}

void tls_context_free(struct tls_context *context)
{
	if (context == NULL)
		return;
	SSL_CTX_free(context->openssl);
	tls_identity_release(context->identity);
	free(context);
}
