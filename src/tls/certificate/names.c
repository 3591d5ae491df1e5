// SPDX-License-Identifier: ISC
/* The names in a certificate: alternative names, or the common name. */
#include "base/panic.h"
#include "tls/connection.h"
#include "tls/internal.h"
#include <openssl/x509v3.h>
#include <string.h>

struct names {
	struct arena *arena;
	const char **list;
	size_t count;
};

/* Ignores a name that contains a NUL, since programs interpret it differently. */
static void add_certified_name(struct names *names, const unsigned char *data, int length)
{
	struct str name = str_slice((const char *)data, length > 0 ? (size_t)length : 0);

	if (names->count < TLS_NAMES_MAX && name.length > 0 && str_find(name, '\0') < 0)
		names->list[names->count++] = arena_copy(names->arena, name);
}

static bool add_alternatives(struct names *names, const X509 *certificate)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	bool has_any = false;

	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(all, i);

		if (name->type != GEN_DNS)
			continue;
		has_any = true;
		add_certified_name(names, ASN1_STRING_get0_data(name->d.dNSName),
				   ASN1_STRING_length(name->d.dNSName));
	}
	GENERAL_NAMES_free(all);
	return has_any;
}

static void add_common_name(struct names *names, const X509 *certificate)
{
	const X509_NAME *subject = X509_get_subject_name(certificate);
	int index = -1;
	int next;
	unsigned char *text = NULL;
	int length;

	while ((next = X509_NAME_get_index_by_NID(subject, NID_commonName, index)) >= 0)
		index = next; /* the last one is the most specific */
	if (index < 0)
		return;
	length = ASN1_STRING_to_UTF8(&text,
				     X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)));
	if (length >= 0)
		add_certified_name(names, text, length);
	OPENSSL_free(text);
}

static const char *const *read_certified_names(const X509 *certificate, struct arena *arena,
					       bool has_common_name, size_t *count_out)
{
	struct names names = {arena, arena_alloc(arena, TLS_NAMES_MAX * sizeof *names.list), 0};

	if (!add_alternatives(&names, certificate) && has_common_name)
		add_common_name(&names, certificate);
	tls_errors_clear();
	*count_out = names.count;
	return names.list;
}

const char *const *tls_names_read(const X509 *certificate, struct arena *arena, size_t *count_out)
{
	return read_certified_names(certificate, arena, true, count_out);
}

const char *const *tls_names_of_server(const X509 *certificate, struct arena *arena,
				       size_t *count_out)
{
	return read_certified_names(certificate, arena, false, count_out);
}

const char *tls_names_email(const X509 *certificate, struct arena *arena)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	const char *first;
	struct names names = {arena, &first, 0};

	for (int i = 0; i < sk_GENERAL_NAME_num(all) && names.count == 0; i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(all, i);

		if (name->type == GEN_EMAIL)
			add_certified_name(&names, ASN1_STRING_get0_data(name->d.rfc822Name),
					   ASN1_STRING_length(name->d.rfc822Name));
	}
	GENERAL_NAMES_free(all);
	tls_errors_clear();
	return names.count > 0 ? first : NULL;
}
