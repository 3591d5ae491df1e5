// SPDX-License-Identifier: ISC
#include "tls/certificate.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "tls/internal.h"
#include <openssl/x509v3.h>
#include <time.h>

static const char *write_name(const X509_NAME *name, struct arena *arena)
{
	BIO *bio = BIO_new(BIO_s_mem());
	const char *copy;
	char *text;
	long length;

	if (bio == NULL || X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) < 0)
		panic("no memory for TLS");
	length = BIO_get_mem_data(bio, &text);
	copy = arena_copy(arena, str_slice(text, (size_t)length));
	BIO_free(bio);
	return copy;
}

/* A time that cannot be read is OTHERWISE. */
static int64_t read_time(const ASN1_TIME *time, int64_t otherwise)
{
	struct tm fields;

	if (ASN1_TIME_to_tm(time, &fields) != 1)
		return otherwise;
	return (int64_t)timegm(&fields) * SECOND_US;
}

static void read_links(STACK_OF(X509) * all, struct arena *arena, struct tls_chain *chain)
{
	size_t count = (size_t)sk_X509_num(all);
	struct tls_chain_link *links = arena_alloc(arena, count * sizeof *links);

	for (size_t i = 0; i < count; i++) {
		const X509 *certificate = sk_X509_value(all, (int)i);

		links[i].subject = write_name(X509_get_subject_name(certificate), arena);
		links[i].issuer = write_name(X509_get_issuer_name(certificate), arena);
		/* never valid, if it does not say when */
		links[i].begins_us = read_time(X509_get0_notBefore(certificate), INT64_MAX);
		links[i].ends_us = read_time(X509_get0_notAfter(certificate), INT64_MIN);
	}
	chain->links = links;
	chain->link_count = count;
}

static bool is_signed_by(X509 *certificate, X509 *issuer)
{
	EVP_PKEY *key = X509_get0_pubkey(issuer);

	return X509_check_issued(issuer, certificate) == X509_V_OK && X509_check_ca(issuer) != 0 &&
	       key != NULL && X509_verify(certificate, key) == 1;
}

static size_t find_break_in_chain(STACK_OF(X509) * all)
{
	for (int i = 0; i + 1 < sk_X509_num(all); i++)
		if (!is_signed_by(sk_X509_value(all, i), sk_X509_value(all, i + 1)) &&
		    X509_cmp(sk_X509_value(all, i), sk_X509_value(all, i + 1)) != 0)
			return (size_t)i + 1;
	return 0;
}

static int read_key(X509 *certificate, struct tls_chain *chain, struct buffer *reason)
{
	EVP_PKEY *key = X509_get0_pubkey(certificate);
	int error = tls_key_identify(key, &chain->kind, chain->key, reason);

	if (error == 0)
		chain->bits = (unsigned)EVP_PKEY_get_bits(key);
	return error;
}

int tls_chain_read(struct str pem, struct arena *arena, struct tls_chain *chain_out,
		   struct buffer *reason)
{
	struct tls_chain chain = {0};
	STACK_OF(X509) * all;
	int error = tls_chain_parse(pem, tls_chain_limits, NULL, &all, reason);

	if (error < 0)
		return error;
	error = read_key(sk_X509_value(all, 0), &chain, reason);
	if (error == 0) {
		read_links(all, arena, &chain);
		chain.names = tls_names_read(sk_X509_value(all, 0), arena, &chain.name_count);
		chain.broken_at = find_break_in_chain(all);
		*chain_out = chain;
	}
	sk_X509_pop_free(all, X509_free);
	tls_errors_clear();
	return error;
}

/* NAME without its first label: ".example.org". */
static struct str parent_of_name(struct str name)
{
	ptrdiff_t dot = str_find(name, '.');

	return dot > 0 ? str_skip(name, (size_t)dot) : STR("");
}

static bool is_name_covered(struct str pattern, struct str name)
{
	struct str parent = parent_of_name(name);

	if (str_equal_nocase(pattern, name))
		return true;
	return str_starts_with(pattern, STR("*.")) && parent.length > 0 &&
	       !str_starts_with(name, STR("*.")) && str_equal_nocase(str_skip(pattern, 1), parent);
}

bool tls_chain_covers(const struct tls_chain *chain, struct str name)
{
	for (size_t i = 0; i < chain->name_count; i++)
		if (is_name_covered(str_from(chain->names[i]), name))
			return true;
	return false;
}
