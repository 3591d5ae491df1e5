// SPDX-License-Identifier: ISC
#include "filing/decode/identity.h"
#include "base/panic.h"
#include "filing/decode/internal.h"
#include "header/addresses.h"
#include "mail/address.h"
#include <errno.h>
#include <openssl/evp.h>

enum {
	BLOCK_SIZE = 64 * 1024,
	DERIVED_SIZE = sizeof "<sha256-@invalid>" - 1 + (size_t)2 * DECODE_DIGEST_SIZE,
};

struct identifier {
	EVP_MD_CTX *digest;
	EVP_MD_CTX *passage; /* of fields Received */
	struct arena *arena;
	struct decode_identity identity;
	struct decode_field *fields;
	size_t field_count;
};

/* "<sha256-HEX@invalid>": nobody else's Message-ID may look so. */
static struct str derived_message_id(const unsigned char digest[DECODE_DIGEST_SIZE],
				     struct arena *arena)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	buffer_append_string(&out, "<sha256-");
	for (size_t i = 0; i < DECODE_DIGEST_SIZE; i++)
		buffer_append_format(&out, "%02x", digest[i]);
	buffer_append_string(&out, "@invalid>");
	return arena_copy_str(arena, buffer_view(&out));
}

static bool is_valid_id(struct str id)
{
	if (id.length < 3 || id.length > DECODE_ID_MAX || id.data[0] != '<' ||
	    id.data[id.length - 1] != '>')
		return false;
	for (size_t i = 1; i + 1 < id.length; i++)
		if (id.data[i] <= ' ' || id.data[i] >= 0x7f || id.data[i] == '<' ||
		    id.data[i] == '>')
			return false;
	return id.length != DERIVED_SIZE || !str_starts_with(id, STR("<sha256-")) ||
	       !str_ends_with_nocase(id, STR("@invalid>"));
}

static void note_id(struct identifier *identifier, struct str body)
{
	struct decode_identity *identity = &identifier->identity;
	unsigned char digest[DECODE_DIGEST_SIZE];
	struct str id = str_trim_folds(body);

	if (is_valid_id(id)) {
		identity->id = arena_copy_str(identifier->arena, id);
	} else if (id.length > 0) {
		if (EVP_Digest(id.data, id.length, digest, NULL, EVP_sha256(), NULL) != 1)
			panic("no memory for a digest");
		identity->id = derived_message_id(digest, identifier->arena);
		identity->is_derived = true;
	}
}

struct first_address {
	struct arena *arena;
	struct str address;
};

static int take_first_address(void *context, struct str address)
{
	struct first_address *first = context;

	first->address = arena_copy_str(first->arena, address);
	return 1;
}

/* The first one in LIST; "" if it is not valid. */
static struct str first_address_of_list(struct str list, struct arena *arena)
{
	struct first_address first = {.arena = arena, .address = STR("")};

	if (header_addresses_parse(list, STR(""), MAIL_ADDRESS_UTF8, NULL, take_first_address,
				   &first) < 0)
		return STR("");
	return first.address;
}

static void note_from(struct identifier *identifier, struct str body)
{
	identifier->identity.from = first_address_of_list(body, identifier->arena);
}

static void note_delivered_to(struct identifier *identifier, struct str body)
{
	identifier->identity.delivered_to = first_address_of_list(body, identifier->arena);
}

/* The first word of BODY, before a comment or a parameter. */
static struct str first_word_of_field(struct str body)
{
	struct str word = str_trim_folds(body);
	size_t length = 0;

	while (length < word.length && !str_is_one_of(word.data[length], " \t\r\n") &&
	       word.data[length] != ';' && word.data[length] != '(')
		length++;
	word.length = length;
	return word;
}

static void note_auto_submitted(struct identifier *identifier, struct str body)
{
	struct str word = first_word_of_field(body);

	if (word.length > 0 && !str_equal_nocase(word, STR("no")))
		identifier->identity.is_automatic = true;
}

static void note_list_id(struct identifier *identifier, struct str body)
{
	(void)body;
	identifier->identity.is_automatic = true;
}

static void note_precedence(struct identifier *identifier, struct str body)
{
	struct str word = first_word_of_field(body);

	if (str_equal_nocase(word, STR("bulk")) || str_equal_nocase(word, STR("list")) ||
	    str_equal_nocase(word, STR("junk")))
		identifier->identity.is_automatic = true;
}

static const struct {
	struct str name;
	void (*note)(struct identifier *identifier, struct str body);
} notes[] = {
	{STR("message-id"), note_id},
	{STR("from"), note_from},
	{STR("delivered-to"), note_delivered_to},
	{STR("auto-submitted"), note_auto_submitted},
	{STR("list-id"), note_list_id},
	{STR("precedence"), note_precedence},
};

/* The one that is asked for, and was not seen yet. */
static struct decode_field *missing_field(const struct identifier *identifier, struct str name)
{
	for (size_t i = 0; i < identifier->field_count; i++)
		if (str_equal_nocase(identifier->fields[i].name, name))
			return identifier->fields[i].value.data == NULL ? &identifier->fields[i]
									: NULL;
	return NULL;
}

/* What the identity is made of is handed up in any case: nothing that is asked for beside it may
 * change which message it is. */
static bool wants_identity_field(void *context, struct str name)
{
	for (size_t i = 0; i < COUNT_OF(notes); i++)
		if (str_equal_nocase(name, notes[i].name))
			return false;
	return missing_field(context, name) != NULL;
}

static struct str unfold_field_body(struct str body, struct arena *arena)
{
	struct str value = str_trim_folds(body);
	size_t room = value.length < DECODE_TEXT_MAX ? value.length : DECODE_TEXT_MAX;
	char *copy = arena_alloc(arena, room + 1);
	size_t length = 0;

	for (size_t i = 0; i < value.length && length < room; i++)
		if (value.data[i] != '\r' && value.data[i] != '\n')
			copy[length++] = value.data[i];
	return str_slice(copy, length);
}

static void on_field(void *context, const struct header_field *field)
{
	struct identifier *identifier = context;
	struct decode_field *asked = missing_field(identifier, field->name);

	if (asked != NULL)
		asked->value = unfold_field_body(field->body, identifier->arena);
	for (size_t i = 0; i < COUNT_OF(notes); i++)
		if (str_equal_nocase(field->name, notes[i].name))
			notes[i].note(context, field->body);
}

static void update_digest(EVP_MD_CTX *digest, const void *data, size_t length)
{
	if (EVP_DigestUpdate(digest, data, length) != 1)
		panic("no memory for a digest");
}

static void on_wrote(void *context, struct str text)
{
	struct identifier *identifier = context;

	update_digest(identifier->digest, text.data, text.length);
}

static void on_received(void *context, struct str text)
{
	struct identifier *identifier = context;

	update_digest(identifier->passage, text.data, text.length);
}

static EVP_MD_CTX *begin_digest(void)
{
	EVP_MD_CTX *digest = EVP_MD_CTX_new();

	if (digest == NULL || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1)
		panic("no memory for a digest");
	return digest;
}

static void end_digest(EVP_MD_CTX *digest, unsigned char out[DECODE_DIGEST_SIZE])
{
	if (EVP_DigestFinal_ex(digest, out, NULL) != 1)
		panic("no memory for a digest");
	EVP_MD_CTX_free(digest);
}

/* Feeds all of CONTENT to ESSENCE, and ends it. */
static int read_essence_content(const struct ipc_content *content, struct decode_essence *essence)
{
	char *block = memory_alloc(BLOCK_SIZE);
	struct ipc_content_pass pass = {0};
	int error = 0;

	while (error == 0 && !ipc_content_is_passed(content, &pass)) {
		struct str part;

		error = ipc_content_next(content, &pass, block, BLOCK_SIZE, &part);
		if (error == 0)
			decode_essence_take(essence, part);
	}
	decode_essence_end(essence);
	free(block);
	return error;
}

/* Without a Message-ID: the same content may be another message (a report that a machine sends each
 * hour), so by which way it came counts, too. */
static void derive_id(struct identifier *identifier)
{
	struct decode_identity *identity = &identifier->identity;
	unsigned char digest[DECODE_DIGEST_SIZE];

	update_digest(identifier->passage, identity->digest, sizeof identity->digest);
	end_digest(identifier->passage, digest);
	if (identity->id.length > 0)
		return;
	identity->id = derived_message_id(digest, identifier->arena);
	identity->is_derived = true;
}

int decode_identify_fields(const struct ipc_content *content, struct arena *arena,
			   struct decode_field *fields, size_t count, struct decode_identity *out)
{
	static const struct decode_essence_handler handler = {.wrote = on_wrote,
							      .received = on_received,
							      .wants = wants_identity_field,
							      .field = on_field};
	struct identifier identifier = {
		.digest = begin_digest(),
		.passage = begin_digest(),
		.arena = arena,
		.identity = {.id = STR(""), .from = STR(""), .delivered_to = STR("")},
		.fields = fields,
		.field_count = count,
	};
	struct decode_essence essence = {.handler = &handler, .context = &identifier};
	int error = read_essence_content(content, &essence);

	end_digest(identifier.digest, identifier.identity.digest);
	derive_id(&identifier);
	if (error < 0)
		return error;
	*out = identifier.identity;
	return 0;
}

int decode_identify(const struct ipc_content *content, struct arena *arena,
		    struct decode_identity *out)
{
	return decode_identify_fields(content, arena, NULL, 0, out);
}
