// SPDX-License-Identifier: ISC
/* Logins of tls_source. What a client works out once from its password is worked out once, because
 * this program has the processors in common with the server. */
#include "source.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = SHA256_DIGEST_LENGTH, PART = 320 };

/* What the server says first: "r=NONCE,s=SALT,i=ROUNDS". */
struct demand {
	char text[PART];
	char nonce[PART];
	char salt[PART];
	int rounds;
};

static void encode(const void *data, size_t length, char *out)
{
	EVP_EncodeBlock((unsigned char *)out, data, (int)length);
}

/* The length; OUT has room for PART bytes. */
static size_t decode(const char *text, unsigned char *out)
{
	size_t length = strcspn(text, "\r\n");
	int count =
		length < PART ? EVP_DecodeBlock(out, (const unsigned char *)text, (int)length) : -1;

	if (count <= 0)
		tls_wire_fail("login", text);
	while (length > 0 && text[--length] == '=')
		count--;
	return (size_t)count;
}

static void sign(const unsigned char *key, const char *text, unsigned char *out)
{
	if (HMAC(EVP_sha256(), key, KEY, (const unsigned char *)text, strlen(text), out, NULL) ==
	    NULL)
		tls_wire_fail_tls("HMAC");
}

static void parse(const char *reply, struct demand *demand)
{
	demand->text[decode(reply, (unsigned char *)demand->text)] = '\0';
	if (sscanf(demand->text, "r=%319[^,],s=%319[^,],i=%d", demand->nonce, demand->salt,
		   &demand->rounds) != 3)
		tls_wire_fail("login", demand->text);
}

/* The client's key; the latest one is remembered. */
static const unsigned char *client_key(const char *password, const struct demand *demand)
{
	static char salt_known[PART];
	static unsigned char key[KEY];
	unsigned char salt[PART];
	unsigned char salted[KEY];

	if (strcmp(salt_known, demand->salt) == 0)
		return key;
	if (PKCS5_PBKDF2_HMAC(password, (int)strlen(password), salt,
			      (int)decode(demand->salt, salt), demand->rounds, EVP_sha256(), KEY,
			      salted) != 1)
		tls_wire_fail_tls("PBKDF2");
	sign(salted, "Client Key", key);
	strcpy(salt_known, demand->salt);
	return key;
}

void source_login_plain(const struct source *source, char *text)
{
	char said[PART];
	int length =
		snprintf(said, sizeof said, "%c%s%c%s", '\0', source->user, '\0', source->password);

	strcpy(text, "AUTH PLAIN ");
	encode(said, (size_t)length, text + strlen(text));
}

void source_login_begin(struct source_session *session, char *text)
{
	unsigned char random[12];
	char said[PART];
	int length;

	if (RAND_bytes(random, sizeof random) != 1)
		tls_wire_fail_tls("random numbers");
	encode(random, sizeof random, session->nonce);
	length = snprintf(said, sizeof said, "n,,n=%s,r=%s", session->source->user, session->nonce);
	strcpy(text, "AUTH SCRAM-SHA-256 ");
	encode(said, (size_t)length, text + strlen(text));
	session->login_step = 0;
}

static void prove(const struct source_session *session, char *text)
{
	struct demand demand;
	unsigned char proof[KEY];
	unsigned char stored[KEY];
	const unsigned char *key;
	char heard[3 * PART];
	char said[2 * PART];
	size_t length;

	parse(session->reply + 4, &demand);
	key = client_key(session->source->password, &demand);
	SHA256(key, KEY, stored);
	length = (size_t)snprintf(said, sizeof said, "c=biws,r=%s", demand.nonce);
	snprintf(heard, sizeof heard, "n=%s,r=%s,%s,%s", session->source->user, session->nonce,
		 demand.text, said);
	sign(stored, heard, proof);
	for (size_t i = 0; i < KEY; i++)
		proof[i] ^= key[i];
	strcpy(said + length, ",p=");
	encode(proof, KEY, said + length + 3);
	if (strlen(said) > PART)
		tls_wire_fail("login", "the server's part is too long");
	encode(said, strlen(said), text);
}

void source_login_respond(struct source_session *session, char *text)
{
	if (session->login_step++ == 0)
		prove(session, text);
	else
		*text = '\0';
}
