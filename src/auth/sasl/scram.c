// SPDX-License-Identifier: ISC
/*
 * The server's side of SCRAM, RFC 5802 and 7677, with channel bindings tls-exporter (RFC 9266) and
 * tls-server-end-point (RFC 5929).
 *
 *   client: [gs2-header] n=USER,r=NONCE
 *   server: r=NONCE+OURS,s=SALT,i=ITERATIONS
 *   client: c=BASE64(gs2-header, binding),r=NONCE+OURS,p=PROOF
 *   server: v=SIGNATURE
 *   client: (empty)
 */
#include "auth/sasl/internal.h"
#include "base/panic.h"
#include "base/text/base64.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

static const EVP_MD *digest_of_mechanism(const struct sasl *sasl)
{
	return sasl->mechanism->keys == DIRECTORY_PASSWORD_SCRAM_SHA_256 ? EVP_sha256()
									 : EVP_sha1();
}

/* --- the first message --- */

/* Takes "LETTER=VALUE" off the front of *REST, up to a comma or its end. */
static bool take_scram_attribute(struct str *rest, char letter, struct str *value_out)
{
	struct str attribute;

	if (!str_split(rest, ',', &attribute) || attribute.length < 2 ||
	    attribute.data[0] != letter || attribute.data[1] != '=')
		return false;
	*value_out = str_skip(attribute, 2);
	return true;
}

/* RFC 5802 section 7: printable, and no comma. */
static bool is_nonce(struct str nonce)
{
	for (size_t i = 0; i < nonce.length; i++)
		if (nonce.data[i] < 0x21 || nonce.data[i] > 0x7e || nonce.data[i] == ',')
			return false;
	return nonce.length > 0 && nonce.length <= SASL_CLIENT_NONCE_MAX;
}

/* Whether the client's choice of a binding is allowed; its data follow the header. A client that
 * could bind, and was not offered to, speaks to somebody in between: 'y' (section 6). */
static bool choose_binding(struct sasl *sasl, const struct sasl_gs2 *gs2)
{
	struct buffer *header = &sasl->scram.header;
	struct str data = STR("");

	if (sasl->mechanism->is_binding != (gs2->flag == 'p'))
		return false;
	if (gs2->flag == 'y' && sasl->peer.is_binding_offered)
		return false;
	if (gs2->flag == 'p') {
		if (str_equal(gs2->binding, STR("tls-exporter")))
			data = sasl->peer.exporter;
		else if (str_equal(gs2->binding, STR("tls-server-end-point")))
			data = sasl->peer.end_point;
		if (data.length == 0)
			return false;
	}
	buffer_append_str(header, gs2->header);
	buffer_append_str(header, data);
	return true;
}

static void begin_conversation(struct sasl *sasl, struct str bare, struct str nonce)
{
	struct sasl_scram_state *scram = &sasl->scram;

	buffer_append_str(&scram->nonce, nonce);
	buffer_append_str(&scram->nonce, sasl->peer.nonce);
	buffer_append_str(&scram->conversation, bare);
}

static void take_client_first(struct sasl *sasl, struct str message)
{
	struct buffer user CLEANUP(buffer_clear) = {0};
	struct buffer as CLEANUP(buffer_clear) = {0};
	struct sasl_gs2 gs2;
	struct str name;
	struct str nonce;
	struct str rest;

	if (!sasl_gs2_take(&message, &gs2)) {
		sasl_refuse_malformed(sasl);
		return;
	}
	rest = message;
	if (!take_scram_attribute(&rest, 'n', &name) || !take_scram_attribute(&rest, 'r', &nonce) ||
	    !is_nonce(nonce) || !sasl_gs2_name(name, &user) ||
	    (gs2.as.length > 0 && !sasl_gs2_name(gs2.as, &as))) {
		sasl_refuse_malformed(sasl);
		return;
	}
	if (!choose_binding(sasl, &gs2)) {
		sasl_refuse(sasl, AUTH_FAILED,
			    gs2.flag == 'y' ? "somebody has taken mechanisms out of the offer"
					    : "no such channel binding");
		return;
	}
	begin_conversation(sasl, message, nonce);
	sasl_ask(sasl, SASL_ASKS_KEYS, buffer_view(&as), buffer_view(&user), STR(""));
}

static void answer_scram_keys(struct sasl *sasl, enum sasl_finding finding, struct str user,
			      const struct directory_scram *keys)
{
	struct sasl_scram_state *scram = &sasl->scram;
	struct buffer first CLEANUP(buffer_clear) = {0};

	(void)user;
	if (finding != SASL_RIGHT) {
		sasl_refuse_for(sasl, finding);
		return;
	}
	scram->keys = *keys;
	buffer_append_string(&first, "r=");
	buffer_append_str(&first, buffer_view(&scram->nonce));
	buffer_append_string(&first, ",s=");
	base64_append(&first, str_slice((const char *)keys->salt, keys->salt_length));
	buffer_append_format(&first, ",i=%u", keys->iterations);
	buffer_append_byte(&scram->conversation, ',');
	buffer_append_str(&scram->conversation, buffer_view(&first));
	sasl_challenge(sasl, buffer_view(&first));
}

/* --- the final message --- */

static bool sign_conversation(const struct sasl *sasl, const unsigned char *key,
			      unsigned char signature[DIRECTORY_SCRAM_KEY_MAX])
{
	struct str text = buffer_view(&sasl->scram.conversation);

	return HMAC(digest_of_mechanism(sasl), key, (int)sasl->scram.keys.key_length,
		    (const unsigned char *)text.data, text.length, signature, NULL) != NULL;
}

/* Whether PROOF is that of somebody who knows the key of which ours is the hash. */
static bool is_proof(const struct sasl *sasl, struct str proof)
{
	const struct directory_scram *keys = &sasl->scram.keys;
	unsigned char client[DIRECTORY_SCRAM_KEY_MAX];
	unsigned char stored[DIRECTORY_SCRAM_KEY_MAX];
	bool is_right = false;

	if (sign_conversation(sasl, keys->stored_key, client)) {
		for (size_t i = 0; i < keys->key_length; i++)
			client[i] ^= (unsigned char)proof.data[i];
		is_right = EVP_Digest(client, keys->key_length, stored, NULL,
				      digest_of_mechanism(sasl), NULL) == 1 &&
			   CRYPTO_memcmp(stored, keys->stored_key, keys->key_length) == 0;
	}
	explicit_bzero(client, sizeof client);
	explicit_bzero(stored, sizeof stored);
	return is_right;
}

static bool is_bound(const struct sasl *sasl, struct str binding)
{
	struct buffer said CLEANUP(buffer_clear) = {.is_secret = true};
	struct str header = buffer_view(&sasl->scram.header);

	return base64_decode(binding, &said) && said.length == header.length &&
	       CRYPTO_memcmp(buffer_data(&said), header.data, header.length) == 0;
}

static void send_signature(struct sasl *sasl)
{
	unsigned char signature[DIRECTORY_SCRAM_KEY_MAX];
	struct buffer final CLEANUP(buffer_clear) = {0};

	if (!sign_conversation(sasl, sasl->scram.keys.server_key, signature))
		panic("no memory for a signature");
	buffer_append_string(&final, "v=");
	base64_append(&final, str_slice((const char *)signature, sasl->scram.keys.key_length));
	sasl->scram.is_proven = true;
	sasl_challenge(sasl, buffer_view(&final));
}

/* Splits the final message: the proof is its last attribute. */
static bool split_final(struct str message, struct str *binding_out, struct str *nonce_out,
			struct str *proven_out, struct buffer *proof)
{
	ptrdiff_t comma = str_find_last(message, ',');
	struct str last = str_skip(message, (size_t)comma + 1);

	if (comma <= 0 || !str_starts_with(last, STR("p=")) ||
	    !base64_decode(str_skip(last, 2), proof))
		return false;
	message = str_slice(message.data, (size_t)comma);
	*proven_out = message;
	return take_scram_attribute(&message, 'c', binding_out) &&
	       take_scram_attribute(&message, 'r', nonce_out);
}

static void take_final(struct sasl *sasl, struct str message)
{
	struct sasl_scram_state *scram = &sasl->scram;
	struct buffer proof CLEANUP(buffer_clear) = {.is_secret = true};
	struct str binding;
	struct str nonce;
	struct str proven;

	if (!split_final(message, &binding, &nonce, &proven, &proof)) {
		sasl_refuse_malformed(sasl);
		return;
	}
	buffer_append_byte(&scram->conversation, ',');
	buffer_append_str(&scram->conversation, proven);
	if (!str_equal(nonce, buffer_view(&scram->nonce)))
		sasl_refuse(sasl, AUTH_FAILED, "the nonce is of another conversation");
	else if (!is_bound(sasl, binding))
		sasl_refuse(sasl, AUTH_FAILED, "bound to another connection");
	else if (proof.length != scram->keys.key_length || !is_proof(sasl, buffer_view(&proof)))
		sasl_refuse(sasl, AUTH_FAILED, "wrong credentials");
	else
		send_signature(sasl);
}

static void take_scram_message(struct sasl *sasl, struct str message)
{
	if (sasl->scram.is_proven && message.length == 0)
		sasl_accept(sasl);
	else if (sasl->scram.is_proven)
		sasl_refuse_malformed(sasl);
	else if (sasl->step == 0)
		take_client_first(sasl, message);
	else
		take_final(sasl, message);
}

const struct sasl_kind sasl_scram = {NULL, take_scram_message, answer_scram_keys};
