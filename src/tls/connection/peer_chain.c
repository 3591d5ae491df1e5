// SPDX-License-Identifier: ISC
#include "tls/peer_chain.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "tls/internal.h"
#include <openssl/x509v3.h>
#include <string.h>

static const char *copy_bio(BIO *bio, struct arena *arena)
{
	char *data;
	long length = BIO_get_mem_data(bio, &data);
	const char *text = arena_copy(arena, str_slice(data, length > 0 ? (size_t)length : 0));

	BIO_free(bio);
	return text;
}

static BIO *new_bio(void)
{
	BIO *bio = BIO_new(BIO_s_mem());

	if (bio == NULL)
		panic("no memory for TLS");
	return bio;
}

/* Control characters and what is no UTF-8 are escaped with a backslash. */
static const char *text_of_x509_name(const X509_NAME *name, struct arena *arena)
{
	BIO *bio = new_bio();

	(void)X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
	return copy_bio(bio, arena);
}

static const char *key_text(const X509 *certificate, struct arena *arena)
{
	const EVP_PKEY *key = X509_get0_pubkey(certificate);
	BIO *bio = new_bio();

	if (key == NULL)
		BIO_printf(bio, "unknown");
	else
		BIO_printf(bio, "%s, %d bits", OBJ_nid2ln(EVP_PKEY_get_base_id(key)),
			   EVP_PKEY_get_bits(key));
	return copy_bio(bio, arena);
}

static int64_t time_of_asn1(const ASN1_TIME *time)
{
	ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
	int days = 0;
	int seconds = 0;

	if (epoch == NULL)
		panic("no memory for TLS");
	(void)ASN1_TIME_diff(&days, &seconds, epoch, time);
	ASN1_TIME_free(epoch);
	return days * DAY_US + seconds * SECOND_US;
}

static void read_peer_certificate(X509 *certificate, struct arena *arena,
				  struct tls_peer_certificate *out)
{
	out->subject = text_of_x509_name(X509_get_subject_name(certificate), arena);
	out->issuer = text_of_x509_name(X509_get_issuer_name(certificate), arena);
	out->key = key_text(certificate, arena);
	out->not_before_us = time_of_asn1(X509_get0_notBefore(certificate));
	out->not_after_us = time_of_asn1(X509_get0_notAfter(certificate));
	out->names = tls_names_of_server(certificate, arena, &out->name_count);
	(void)tls_certificate_fingerprints(certificate, out->fingerprint, out->key_fingerprint);
}

size_t tls_peer_chain_read(const struct tls_connection *connection, struct arena *arena,
			   const struct tls_peer_certificate **list_out)
{
	const STACK_OF(X509) *chain = SSL_get_peer_cert_chain(tls_connection_openssl(connection));
	struct tls_peer_certificate *list = arena_alloc(arena, TLS_PEER_CHAIN_MAX * sizeof *list);
	size_t count = 0;

	for (int i = 0; i < sk_X509_num(chain) && count < TLS_PEER_CHAIN_MAX; i++)
		read_peer_certificate(sk_X509_value(chain, i), arena, &list[count++]);
	tls_errors_clear();
	*list_out = list;
	return count;
}
