// SPDX-License-Identifier: ISC
/* Checks the syntax of a password hash; crypt(3) can do so only by hashing. */
#include "directory/record/password.h"
#include <ctype.h>

/* Hashes of crypt(5), which end in LENGTH characters of [./A-Za-z0-9]. */
static const struct shape {
	const char *prefix;
	const char *setting; /* what follows the prefix, 'd' is a digit; "": any setting */
	size_t length;       /* after the last $; of bcrypt, salt and hash together */
} shapes[] = {
	{"$y$", "", 43},     {"$gy$", "", 43},    {"$7$", "", 43},        {"$2a$", "dd$", 53},
	{"$2b$", "dd$", 53}, {"$2y$", "dd$", 53}, {"$6$", "", 86},        {"$5$", "", 43},
	{"$1$", "", 22},     {"$sha1$", "", 28},  {"$argon2id$", "", 43}, {"$argon2i$", "", 43},
};

static bool is_base64(struct str text, bool is_argon2)
{
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (!isalnum((unsigned char)c) && c != '/' && c != (is_argon2 ? '+' : '.'))
			return false;
	}
	return true;
}

static bool has_shape(struct str text, const struct shape *shape)
{
	struct str prefix = str_from(shape->prefix);
	ptrdiff_t last = str_find_last(text, '$');
	struct str digest = str_skip(text, (size_t)last + 1);
	struct str setting = str_skip(text, prefix.length);

	if (!str_starts_with(text, prefix) || (size_t)last < prefix.length ||
	    digest.length != shape->length ||
	    !is_base64(digest, str_starts_with(prefix, STR("$argon2"))))
		return false;
	for (size_t i = 0; shape->setting[i] != '\0'; i++)
		if (i >= setting.length ||
		    (shape->setting[i] == 'd' ? !isdigit((unsigned char)setting.data[i])
					      : setting.data[i] != shape->setting[i]))
			return false;
	return true;
}

static bool is_crypt(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] >= 0x7f || text.data[i] == ':')
			return false;
	for (size_t i = 0; i < COUNT_OF(shapes); i++)
		if (has_shape(text, &shapes[i]))
			return true;
	return false;
}

/* How many bytes TEXT is in padded base64; 0: it is none. */
static size_t padded_bytes(struct str text)
{
	size_t padding = 0;

	while (padding < 2 && padding < text.length && text.data[text.length - 1 - padding] == '=')
		padding++;
	if (text.length % 4 != 0 || !is_base64(str_slice(text.data, text.length - padding), true))
		return 0;
	return text.length / 4 * 3 - padding;
}

/* NAME$ITERATIONS:SALT$STORED-KEY:SERVER-KEY */
static bool is_scram_hash(struct str text)
{
	static const struct {
		const char *name;
		size_t key; /* bytes of each key */
	} kinds[] = {{"SCRAM-SHA-256", 32}, {"SCRAM-SHA-1", 20}};
	struct str name;
	struct str number;
	struct str salt;
	struct str stored;
	uint64_t iterations;

	if (!str_split(&text, '$', &name) || !str_split(&text, ':', &number) ||
	    !str_split(&text, '$', &salt) || !str_split(&text, ':', &stored) ||
	    !str_to_u64(number, &iterations) || iterations < 1 ||
	    iterations > DIRECTORY_SCRAM_ITERATIONS_MAX || padded_bytes(salt) < 1 ||
	    padded_bytes(salt) > DIRECTORY_SCRAM_SALT_MAX)
		return false;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (str_equal(name, str_from(kinds[i].name)))
			return padded_bytes(stored) == kinds[i].key &&
			       padded_bytes(text) == kinds[i].key;
	return false;
}

bool directory_password_is_hash(struct str text)
{
	return str_starts_with(text, STR("$")) ? is_crypt(text) : is_scram_hash(text);
}

const char *directory_password_problem(const struct directory_record *record)
{
	if (record->key.table != DIRECTORY_USER)
		return NULL;
	for (size_t i = 0; i < record->field_count; i++)
		if (str_equal(record->fields[i].name, STR("password")) &&
		    !directory_password_is_hash(record->fields[i].value))
			return "field password is no hash: it is cut, or of a method that is not "
			       "known; allowed: a whole hash of crypt(5), or SCRAM-SHA-256$... or "
			       "SCRAM-SHA-1$..., RFC 5803";
	return NULL;
}
