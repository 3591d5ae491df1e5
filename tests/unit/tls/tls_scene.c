// SPDX-License-Identifier: ISC
#include "tls_scene.h"
#include "base/panic.h"
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

enum { HOUR = 3600, DAY = 24 * HOUR };

static void need(bool is_done, const char *what)
{
	if (!is_done)
		panic("%s cannot be made", what);
}

EVP_PKEY *tls_scene_key(const char *type, size_t bits)
{
	EVP_PKEY *key;

	if (strcmp(type, "RSA") == 0)
		key = EVP_PKEY_Q_keygen(NULL, NULL, type, bits);
	else if (type[0] == 'P' || strncmp(type, "sec", 3) == 0)
		key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", type);
	else
		key = EVP_PKEY_Q_keygen(NULL, NULL, type);
	need(key != NULL, type);
	return key;
}

static void append(BIO *bio, struct buffer *pem)
{
	char *data;
	long length = BIO_get_mem_data(bio, &data);

	buffer_append(pem, data, (size_t)length);
	BIO_free(bio);
}

void tls_scene_write_key(EVP_PKEY *key, struct buffer *pem)
{
	BIO *bio = BIO_new(BIO_s_mem());

	need(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1, "a key's text");
	append(bio, pem);
}

void tls_scene_write(X509 *certificate, struct buffer *pem)
{
	BIO *bio = BIO_new(BIO_s_mem());

	need(PEM_write_bio_X509(bio, certificate) == 1, "a certificate's text");
	append(bio, pem);
}

static void add_extension(X509 *certificate, int kind, const char *value)
{
	X509_EXTENSION *extension;

	if (value == NULL)
		return;
	extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);
	need(extension != NULL && X509_add_ext(certificate, extension, -1) == 1, value);
	X509_EXTENSION_free(extension);
}

static void add_name(X509 *certificate, const char *name)
{
	X509_NAME *subject = X509_get_subject_name(certificate);

	need(X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, (const unsigned char *)"Tests",
					-1, -1, 0) == 1,
	     "a name");
	if (name != NULL)
		need(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
						(const unsigned char *)name, -1, -1, 0) == 1,
		     name);
}

X509 *tls_scene_certificate(const struct tls_scene_certificate *wanted)
{
	static long serial;
	EVP_PKEY *signer = wanted->issuer != NULL ? wanted->signer : wanted->key;
	bool is_usual = wanted->begins == 0 && wanted->ends == 0;
	X509 *made = X509_new();
	X509 *issuer = wanted->issuer != NULL ? wanted->issuer : made;

	X509_set_version(made, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial);
	X509_gmtime_adj(X509_getm_notBefore(made), is_usual ? -HOUR : wanted->begins);
	X509_gmtime_adj(X509_getm_notAfter(made), is_usual ? DAY : wanted->ends);
	add_name(made, wanted->name);
	X509_set_issuer_name(made, X509_get_subject_name(issuer));
	X509_set_pubkey(made, wanted->key);
	add_extension(made, NID_basic_constraints,
		      wanted->is_authority ? "critical,CA:TRUE" : "CA:FALSE");
	add_extension(made, NID_subject_alt_name, wanted->names);
	need(X509_sign(made, signer, EVP_PKEY_is_a(signer, "ED25519") == 1 ? NULL : EVP_sha256()) >
		     0,
	     "a signature");
	return made;
}
