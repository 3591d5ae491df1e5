// SPDX-License-Identifier: ISC
/* What a server asks of its clients: certificates that may be verified, or only known; and peers of
 * each other, certificates that must be. */
#include "base/panic.h"
#include "tls/identity/internal.h"
#include <errno.h>

enum { AUTHORITIES_SIZE_MAX = 1 << 20, AUTHORITIES_MAX = 1000 };

static int add_authority(struct tls_clients *clients, X509 *certificate, struct buffer *reason)
{
	X509_NAME *name = X509_NAME_dup(X509_get_subject_name(certificate));

	if (name == NULL || sk_X509_NAME_push(clients->names, name) <= 0)
		panic("no memory for TLS");
	if (X509_STORE_add_cert(clients->authorities, certificate) == 1)
		return 0;
	buffer_append_string(reason, "authorities: a certificate in it cannot be used");
	return -EINVAL;
}

static int add_authorities(struct tls_clients *clients, struct str pem, OSSL_LIB_CTX *library,
			   struct buffer *reason)
{
	const struct tls_chain_limits limits = {AUTHORITIES_SIZE_MAX, AUTHORITIES_MAX};
	struct buffer why = {0};
	STACK_OF(X509) * all;
	int error = tls_chain_parse(pem, limits, library, &all, &why);

	if (error < 0) {
		buffer_append_format(reason, "authorities: " STR_FORMAT,
				     STR_ARGUMENTS(buffer_view(&why)));
		buffer_clear(&why);
		return error;
	}
	for (int i = 0; i < sk_X509_num(all) && error == 0; i++)
		error = add_authority(clients, sk_X509_value(all, i), reason);
	sk_X509_pop_free(all, X509_free);
	return error;
}

int tls_clients_read(struct tls_clients *clients, const struct tls_identity_settings *settings,
		     OSSL_LIB_CTX *library, struct buffer *reason)
{
	clients->are_asked = settings->asks_clients || settings->client_authorities.length > 0;
	clients->authorities = X509_STORE_new();
	clients->names = sk_X509_NAME_new_null();
	if (clients->authorities == NULL || clients->names == NULL)
		panic("no memory for TLS");
	if (settings->client_authorities.length == 0)
		return 0;
	return add_authorities(clients, settings->client_authorities, library, reason);
}

int tls_identity_judge_authorities(struct str pem, struct buffer *reason)
{
	const struct tls_identity_settings none = {.certificates = NULL};
	struct tls_clients clients;
	int error;

	tls_errors_clear();
	error = tls_clients_read(&clients, &none, NULL, reason);
	if (error == 0)
		error = add_authorities(&clients, pem, NULL, reason);
	tls_clients_free(&clients);
	tls_errors_clear();
	return error;
}

/* A certificate that is not verified does not end the handshake: the verdict is kept. */
static int verify_client_chain(X509_STORE_CTX *context, void *data)
{
	(void)data;
	if (X509_verify_cert(context) != 1 && X509_STORE_CTX_get_error(context) == X509_V_OK)
		X509_STORE_CTX_set_error(context, X509_V_ERR_UNSPECIFIED);
	return 1;
}

static void name_authorities(const struct tls_clients *clients, SSL_CTX *openssl)
{
	STACK_OF(X509_NAME) *names = SSL_dup_CA_list(clients->names);

	if (names == NULL)
		panic("no memory for TLS");
	SSL_CTX_set_client_CA_list(openssl, names);
	SSL_CTX_set1_cert_store(openssl, clients->authorities);
}

void tls_clients_demand(const struct tls_clients *clients, SSL_CTX *openssl)
{
	name_authorities(clients, openssl);
	SSL_CTX_set_verify(openssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

void tls_clients_apply(const struct tls_clients *clients, SSL_CTX *openssl)
{
	if (!clients->are_asked)
		return;
	name_authorities(clients, openssl);
	SSL_CTX_set_cert_verify_callback(openssl, verify_client_chain, NULL);
	SSL_CTX_set_verify(openssl, SSL_VERIFY_PEER, NULL);
}

void tls_clients_free(struct tls_clients *clients)
{
	X509_STORE_free(clients->authorities);
	sk_X509_NAME_pop_free(clients->names, X509_NAME_free);
}
