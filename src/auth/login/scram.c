// SPDX-License-Identifier: ISC
/*
 * The client's side of SCRAM, RFC 5802 and 7677.
 *
 *   client: [gs2-header] n=USER,r=NONCE
 *   server: r=NONCE+THEIRS,s=SALT,i=ROUNDS
 *   client: c=BASE64(gs2-header, binding),r=NONCE+THEIRS,p=PROOF
 *   server: v=SIGNATURE
 *   client: (empty)
 */
#include "auth/login/internal.h"
#include "base/panic.h"
#include "base/text/base64.h"
#include "mail/text/saslprep.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

enum { SALT_MAX = 1024 }; /* bytes */

/* RFC 5802 section 7 */
static const struct {
	struct str error;
	const char *meaning;
} errors[] = {
	{STR("invalid-proof"), "it says that the password is wrong"},
	{STR("unknown-user"), "it does not know the user"},
	{STR("channel-bindings-dont-match"),
	 "it has another TLS connection than this: somebody may sit in between"},
	{STR("server-does-support-channel-binding"),
	 "it offers what its offer here lacked: somebody may sit in between"},
};

void login_scram_prepare(struct login_exchange *exchange, enum login_flag flag,
			 const struct login_setup *setup)
{
	struct buffer *header = &exchange->header;

	buffer_append_str(&exchange->nonce, setup->nonce);
	buffer_append_byte(header, (char)flag);
	if (flag == LOGIN_BOUND)
		buffer_append_format(header, "=%s", setup->binding);
	buffer_append_string(header, ",,");
	exchange->header_length = header->length;
	if (flag == LOGIN_BOUND)
		buffer_append_str(header, setup->binding_data);
}

/* RFC 5802 section 5.1 */
static void append_scram_name(struct buffer *out, struct str name)
{
	for (size_t i = 0; i < name.length; i++) {
		if (name.data[i] == ',')
			buffer_append_string(out, "=2C");
		else if (name.data[i] == '=')
			buffer_append_string(out, "=3D");
		else
			buffer_append_byte(out, name.data[i]);
	}
}

const char *login_scram_first(struct login_exchange *exchange, struct str challenge,
			      struct buffer *response)
{
	struct buffer user CLEANUP(buffer_clear) = {0};
	struct buffer *bare = &exchange->conversation;

	if (challenge.length > 0)
		return "a challenge before the first message";
	if (mail_saslprep(buffer_view(&exchange->user), LOGIN_USER_MAX, &user) < 0)
		return "the user's name cannot be used with SCRAM";
	buffer_append_string(bare, "n=");
	append_scram_name(bare, buffer_view(&user));
	buffer_append_string(bare, ",r=");
	buffer_append_str(bare, buffer_view(&exchange->nonce));
	buffer_append(response, buffer_data(&exchange->header), exchange->header_length);
	buffer_append_str(response, buffer_view(bare));
	return NULL;
}

/* --- the proof --- */

struct first {
	struct str nonce;
	struct buffer salt;
	uint64_t rounds;
};

/* Takes "LETTER=VALUE" off the front of *REST, up to a comma or its end. */
static bool take_server_attribute(struct str *rest, char letter, struct str *value_out)
{
	struct str attribute;

	if (!str_split(rest, ',', &attribute) || attribute.length < 3 ||
	    attribute.data[0] != letter || attribute.data[1] != '=')
		return false;
	*value_out = str_skip(attribute, 2);
	return true;
}

/* The meaning of the error that MESSAGE reports; NULL: it reports none. */
static const char *error_in(struct str message)
{
	struct str error;

	if (!take_server_attribute(&message, 'e', &error))
		return NULL;
	for (size_t i = 0; i < COUNT_OF(errors); i++)
		if (str_equal(error, errors[i].error))
			return errors[i].meaning;
	return "it reports an error of SCRAM";
}

/* Other attributes may follow; what must be understood ("m=") comes first, and nothing is. */
static const char *parse_first(const struct login_exchange *exchange, struct str message,
			       struct first *first)
{
	const char *error = error_in(message);
	struct str salt;
	struct str rounds;

	if (error != NULL)
		return error;
	if (!take_server_attribute(&message, 'r', &first->nonce) ||
	    !take_server_attribute(&message, 's', &salt) ||
	    !take_server_attribute(&message, 'i', &rounds) || !base64_decode(salt, &first->salt) ||
	    first->salt.length > SALT_MAX)
		return "its first message is not one of SCRAM";
	if (first->nonce.length <= exchange->nonce.length ||
	    !str_starts_with(first->nonce, buffer_view(&exchange->nonce)))
		return "its nonce is of another conversation";
	if (!str_to_u64(rounds, &first->rounds) || first->rounds > LOGIN_ROUNDS_MAX)
		return "it demands too many rounds of hashing";
	return first->rounds < LOGIN_ROUNDS_MIN ? "it demands too few rounds of hashing" : NULL;
}

struct keys {
	unsigned char salted[LOGIN_KEY_MAX];
	unsigned char client[LOGIN_KEY_MAX];
	unsigned char stored[LOGIN_KEY_MAX];
	unsigned char server[LOGIN_KEY_MAX];
	unsigned char signature[LOGIN_KEY_MAX]; /* of the client */
};

static bool sign_scram_text(const EVP_MD *digest, const unsigned char *key, struct str text,
			    unsigned char out[LOGIN_KEY_MAX])
{
	return HMAC(digest, key, EVP_MD_get_size(digest), (const unsigned char *)text.data,
		    text.length, out, NULL) != NULL;
}

/* All of RFC 5802 section 3. False: no memory. */
static bool derive_scram_keys(struct login_exchange *exchange, const struct first *first,
			      struct str password, struct keys *keys)
{
	const EVP_MD *digest = EVP_get_digestbyname(exchange->mechanism->digest);
	struct str text = buffer_view(&exchange->conversation);
	int length = EVP_MD_get_size(digest);

	exchange->key_length = (size_t)length;
	return PKCS5_PBKDF2_HMAC(password.data, (int)password.length,
				 (const unsigned char *)buffer_data(&first->salt),
				 (int)first->salt.length, (int)first->rounds, digest, length,
				 keys->salted) == 1 &&
	       sign_scram_text(digest, keys->salted, STR("Client Key"), keys->client) &&
	       EVP_Digest(keys->client, exchange->key_length, keys->stored, NULL, digest, NULL) ==
		       1 &&
	       sign_scram_text(digest, keys->stored, text, keys->signature) &&
	       sign_scram_text(digest, keys->salted, STR("Server Key"), keys->server) &&
	       sign_scram_text(digest, keys->server, text, exchange->server_signature);
}

static const char *append_scram_proof(struct login_exchange *exchange, const struct first *first,
				      struct buffer *response)
{
	struct buffer password CLEANUP(buffer_clear) = {.is_secret = true};
	struct keys keys;

	if (mail_saslprep(buffer_view(&exchange->password), LOGIN_PASSWORD_MAX, &password) < 0)
		return "the password cannot be used with SCRAM";
	if (!derive_scram_keys(exchange, first, buffer_view(&password), &keys))
		panic("no memory for the keys of SCRAM");
	for (size_t i = 0; i < exchange->key_length; i++)
		keys.client[i] ^= keys.signature[i];
	buffer_append_string(response, ",p=");
	base64_append(response, str_slice((const char *)keys.client, exchange->key_length));
	explicit_bzero(&keys, sizeof keys);
	return NULL;
}

const char *login_scram_prove(struct login_exchange *exchange, struct str challenge,
			      struct buffer *response)
{
	struct first first = {0};
	struct buffer *conversation = &exchange->conversation;
	const char *problem = parse_first(exchange, challenge, &first);
	size_t before = response->length;

	if (problem == NULL) {
		buffer_append_string(response, "c=");
		base64_append(response, buffer_view(&exchange->header));
		buffer_append_string(response, ",r=");
		buffer_append_str(response, first.nonce);
		buffer_append_byte(conversation, ',');
		buffer_append_str(conversation, challenge);
		buffer_append_byte(conversation, ',');
		buffer_append_str(conversation, str_skip(buffer_view(response), before));
		problem = append_scram_proof(exchange, &first, response);
	}
	buffer_clear(&first.salt);
	return problem;
}

/* --- the server's --- */

const char *login_scram_verify(struct login_exchange *exchange, struct str challenge,
			       struct buffer *response)
{
	struct buffer signature CLEANUP(buffer_clear) = {0};
	const char *error = error_in(challenge);
	struct str value;

	(void)response;
	if (error != NULL)
		return error;
	if (!take_server_attribute(&challenge, 'v', &value) || !base64_decode(value, &signature) ||
	    signature.length != exchange->key_length ||
	    CRYPTO_memcmp(buffer_data(&signature), exchange->server_signature,
			  exchange->key_length) != 0)
		return "it does not know the password";
	exchange->is_complete = true;
	return NULL;
}
