// SPDX-License-Identifier: ISC
#include "mail/text/saslprep.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

struct range {
	ucs4_t first;
	ucs4_t last;
};

/* RFC 3454 B.1: mapped to nothing. */
static const struct range nothing[] = {
	{0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x1806, 0x1806}, {0x180b, 0x180d},
	{0x200b, 0x200d}, {0x2060, 0x2060}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
};

/* C.2.2, C.6 to C.9; C.1.2 is mapped to space, and the rest follows from Unicode categories. */
static const struct range prohibited[] = {
	{0x0340, 0x0341},   {0x06dd, 0x06dd},   {0x070f, 0x070f}, {0x180e, 0x180e},
	{0x200c, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x2063}, {0x206a, 0x206f},
	{0x2ff0, 0x2ffb},   {0xfeff, 0xfeff},   {0xfff9, 0xfffd}, {0x1d173, 0x1d17a},
	{0xe0001, 0xe0001}, {0xe0020, 0xe007f},
};

static bool is_character_in_ranges(const struct range *ranges, size_t count, ucs4_t character)
{
	for (size_t i = 0; i < count; i++)
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	return false;
}

static bool is_prohibited(ucs4_t character)
{
	return uc_is_general_category(character, UC_CONTROL) ||
	       uc_is_general_category(character, UC_PRIVATE_USE) ||
	       uc_is_general_category(character, UC_SURROGATE) ||
	       uc_is_property_not_a_character(character) ||
	       is_character_in_ranges(prohibited, COUNT_OF(prohibited), character);
}

/* RFC 3454 section 6: if any character is right-to-left, the first and the last must be, and none
 * may be left-to-right. */
static bool is_one_way(const uint8_t *text, size_t length)
{
	bool has_left = false;
	bool has_right = false;
	bool first_is_left = false;
	bool last_is_left = false;
	ucs4_t character;
	int bytes;

	for (size_t at = 0; at < length; at += (size_t)bytes) {
		int category;

		bytes = u8_mbtouc(&character, text + at, length - at);
		category = uc_bidi_category(character);
		last_is_left = category == UC_BIDI_R || category == UC_BIDI_AL;
		if (at == 0)
			first_is_left = last_is_left;
		has_left = has_left || last_is_left;
		has_right = has_right || category == UC_BIDI_L;
	}
	return !has_left || (!has_right && first_is_left && last_is_left);
}

static int check_saslprep_output(const uint8_t *text, size_t length)
{
	ucs4_t character;
	int bytes;

	if (length == 0)
		return -EINVAL;
	for (size_t at = 0; at < length; at += (size_t)bytes) {
		bytes = u8_mbtouc(&character, text + at, length - at);
		if (is_prohibited(character))
			return -EINVAL;
	}
	return is_one_way(text, length) ? 0 : -EINVAL;
}

/* RFC 4013 section 2.1. */
static void map_saslprep_text(struct str given, struct buffer *out)
{
	const uint8_t *text = (const uint8_t *)given.data;
	ucs4_t character;
	int bytes;

	for (size_t at = 0; at < given.length; at += (size_t)bytes) {
		bytes = u8_mbtouc(&character, text + at, given.length - at);
		if (character > 0x7f && uc_is_general_category(character, UC_SPACE_SEPARATOR))
			buffer_append_byte(out, ' ');
		else if (!is_character_in_ranges(nothing, COUNT_OF(nothing), character))
			buffer_append(out, text + at, (size_t)bytes);
	}
}

int mail_saslprep(struct str text, size_t max, struct buffer *out)
{
	struct buffer mapped CLEANUP(buffer_clear) = {.is_secret = true};
	uint8_t *normal;
	size_t length;
	int error;

	if (text.length > max * 4)
		return -EMSGSIZE;
	if (u8_check((const uint8_t *)text.data, text.length) != NULL)
		return -EINVAL;
	map_saslprep_text(text, &mapped);
	if (mapped.length == 0)
		return -EINVAL;
	normal = u8_normalize(UNINORM_NFKC, (const uint8_t *)buffer_data(&mapped), mapped.length,
			      NULL, &length);
	if (normal == NULL)
		return -EINVAL;
	error = check_saslprep_output(normal, length);
	if (error == 0 && length > max)
		error = -EMSGSIZE;
	if (error == 0)
		buffer_append(out, normal, length);
	explicit_bzero(normal, length);
	free(normal);
	return error;
}
