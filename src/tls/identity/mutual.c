// SPDX-License-Identifier: ISC
#include "tls/mutual.h"
#include "base/panic.h"
#include "tls/identity/internal.h"

static SSL_CTX *new_mutual_context(struct tls_identity *identity, enum tls_side side,
				   const char *protocol)
{
	SSL_CTX *openssl = tls_library_new_context(&identity->library, side);

	tls_context_set_rules(openssl);
	(void)SSL_CTX_set_mode(openssl, SSL_MODE_NO_AUTO_CHAIN);
	tls_identity_set_signatures(openssl);
	tls_identity_use(openssl, &identity->certificates[0]);
	tls_clients_demand(&identity->clients, openssl);
	tls_context_set_protocol(openssl, side, protocol, identity->protocol);
	return openssl;
}

static int read_mutual_identity(const struct tls_mutual_settings *settings,
				struct tls_identity **identity_out, struct buffer *reason)
{
	const struct tls_certificate one = {.chain = settings->chain};
	const struct tls_identity_settings wanted = {.certificates = &one,
						     .certificate_count = 1,
						     .signer = settings->signer,
						     .client_authorities = settings->authorities};
	int error = tls_identity_read(&wanted, identity_out, reason);

	if (error < 0)
		return error;
	error = tls_clients_read(&(*identity_out)->clients, &wanted,
				 (*identity_out)->library.openssl, reason);
	if (error < 0)
		tls_identity_release(*identity_out);
	return error;
}

int tls_mutual_open(enum tls_side side, const struct tls_mutual_settings *settings,
		    struct tls_context **context_out, struct buffer *reason)
{
	struct tls_identity *identity;
	struct tls_context *context;
	int error;

	if (settings->authorities.length == 0)
		panic("peers that know each other have authorities");
	error = read_mutual_identity(settings, &identity, reason);
	if (error < 0)
		return error;
	context = memory_alloc_zero(1, sizeof *context);
	context->side = side;
	context->identity = identity;
	context->openssl = new_mutual_context(identity, side, settings->protocol);
	tls_errors_clear();
	*context_out = context;
	return 0;
}
