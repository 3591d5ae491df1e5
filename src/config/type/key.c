// SPDX-License-Identifier: ISC
/* The type of the setting site_key, which is never shown. */
#include "config/section/send.h"
#include "config/type/type.h"
#include <inttypes.h>

enum { HALF_DIGITS = 16 };

static bool read_half(struct str digits, uint64_t *half_out)
{
	for (size_t i = 0; i < digits.length; i++)
		if (str_find(STR("0123456789abcdefABCDEF"), digits.data[i]) < 0)
			return false;
	return str_to_u64_hex(digits, half_out);
}

/* CONFIG_HIDDEN stands for a key that the reader must not know. */
static struct config_complaint parse_key(const struct config_setting *setting,
					 const struct config *config, struct str text, void *place)
{
	struct hash_key key = {0, 0};

	(void)setting;
	(void)config;
	if (text.length > 0 && !str_equal(text, STR(CONFIG_HIDDEN)) &&
	    (text.length != (size_t)2 * HALF_DIGITS ||
	     !read_half(str_slice(text.data, HALF_DIGITS), &key.high) ||
	     !read_half(str_skip(text, HALF_DIGITS), &key.low) || (key.high | key.low) == 0))
		return config_type_complain("not a key");
	*(struct hash_key *)place = key;
	return config_type_fine;
}

static void print_key(const struct config_setting *setting, const void *place, struct buffer *out)
{
	const struct hash_key *key = place;

	(void)setting;
	if ((key->high | key->low) != 0)
		buffer_append_string(out, CONFIG_HIDDEN);
}

const struct config_type config_type_key = {.name = "key",
					    .allowed =
						    "32 hexadecimal digits, not all zero; or empty",
					    .size = sizeof(struct hash_key),
					    .is_secret = true,
					    .parse = parse_key,
					    .print = print_key};

void config_append_site_key(struct hash_key key, struct buffer *out)
{
	buffer_append_format(out, "\nsite_key = \"%016" PRIx64 "%016" PRIx64 "\"\n", key.high,
			     key.low);
}
