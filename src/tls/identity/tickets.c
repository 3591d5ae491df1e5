// SPDX-License-Identifier: ISC
/* Session tickets with keys that all processes have: a session goes on in any of them. */
#include "base/panic.h"
#include "tls/identity/internal.h"
#include <openssl/core_names.h>
#include <openssl/rand.h>

enum {
	SESSION_SECONDS = 3600, /* within which a ticket counts */
	IV_SIZE = 16,           /* of AES */
};

/* What OpenSSL's callback returns. */
enum { FAILED = -1, UNKNOWN, DONE, RENEW };

/* Once in a process: an index cannot be given back. */
static int own_index(void)
{
	static int index = -1;

	if (index < 0)
		index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
	if (index < 0)
		panic("no memory for TLS");
	return index;
}

static bool set_mac(EVP_MAC_CTX *mac, const struct tls_ticket_key *key)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_octet_string(OSSL_MAC_PARAM_KEY, (void *)key->mac, sizeof key->mac),
		OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_DIGEST, (char[]){"SHA256"}, 6),
		OSSL_PARAM_END,
	};

	return EVP_MAC_CTX_set_params(mac, params) == 1;
}

static int encrypt_ticket(const struct tls_tickets *tickets, unsigned char *name, unsigned char *iv,
			  EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac)
{
	const struct tls_ticket_key *key = &tickets->keys[0];

	if (RAND_bytes_ex(tickets->library, iv, IV_SIZE, 0) != 1 ||
	    EVP_EncryptInit_ex2(cipher, tickets->cipher, key->secret, iv, NULL) != 1 ||
	    !set_mac(mac, key))
		return FAILED;
	memcpy(name, key->name, sizeof key->name);
	return DONE;
}

static int decrypt_ticket(const struct tls_tickets *tickets, const unsigned char *name,
			  const unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac)
{
	for (size_t i = 0; i < tickets->count; i++) {
		const struct tls_ticket_key *key = &tickets->keys[i];

		if (memcmp(name, key->name, sizeof key->name) != 0)
			continue;
		if (EVP_DecryptInit_ex2(cipher, tickets->cipher, key->secret, iv, NULL) != 1 ||
		    !set_mac(mac, key))
			return FAILED;
		return i == 0 ? DONE : RENEW;
	}
	return UNKNOWN;
}

static int on_ticket(SSL *openssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
		     EVP_MAC_CTX *mac, int is_new)
{
	const struct tls_tickets *tickets =
		SSL_CTX_get_ex_data(SSL_get_SSL_CTX(openssl), own_index());

	int found;

	if (is_new)
		return encrypt_ticket(tickets, name, iv, cipher, mac);
	found = decrypt_ticket(tickets, name, iv, cipher, mac);
	/* clients use each ticket of TLS 1.3 once (RFC 8446 appendix C.4) */
	return found == DONE && SSL_version(openssl) == TLS1_3_VERSION ? RENEW : found;
}

void tls_tickets_read(struct tls_tickets *tickets, const struct tls_identity_settings *settings,
		      OSSL_LIB_CTX *library)
{
	if (settings->ticket_key_count > TLS_TICKET_KEYS_MAX)
		panic("too many keys of tickets");
	tickets->count = settings->ticket_key_count;
	for (size_t i = 0; i < tickets->count; i++)
		tickets->keys[i] = settings->ticket_keys[i];
	tickets->library = library;
	tickets->cipher = EVP_CIPHER_fetch(library, "AES-256-CBC", TLS_PROPERTIES);
	if (tickets->cipher == NULL)
		panic("this OpenSSL has no AES");
}

void tls_tickets_apply(struct tls_tickets *tickets, SSL_CTX *openssl)
{
	if (tickets->count == 0)
		return;
	(void)SSL_CTX_clear_options(openssl, SSL_OP_NO_TICKET);
	(void)SSL_CTX_set_timeout(openssl, SESSION_SECONDS);
	if (SSL_CTX_set_num_tickets(openssl, 1) != 1 ||
	    SSL_CTX_set_ex_data(openssl, own_index(), tickets) != 1 ||
	    SSL_CTX_set_tlsext_ticket_key_evp_cb(openssl, on_ticket) != 1)
		panic("no memory for TLS");
}

void tls_tickets_free(struct tls_tickets *tickets)
{
	EVP_CIPHER_free(tickets->cipher);
	OPENSSL_cleanse(tickets->keys, sizeof tickets->keys);
}
