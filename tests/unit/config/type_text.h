// SPDX-License-Identifier: ISC
/* tests/unit/config/type_text.h - one value by its type: what is said of it, and how it is printed.
 */
#ifndef TESTS_UNIT_CONFIG_TYPE_TEXT_H
#define TESTS_UNIT_CONFIG_TYPE_TEXT_H

#include "config/schema/schema.h"
#include "config_outcome.h"
#include <stdlib.h>
#include <string.h>

enum { TYPE_VALUE_SIZE_MAX = 256 };

/* What PLACE has where nothing was written. */
#define TYPE_PLACE_FILLER 0xa5

/* Parses TEXT, from memory that has no byte more, into PLACE, which is filled before. */
static inline struct config_complaint parse_exactly(const struct config_setting *row,
						    const struct config *config, struct str text,
						    void *place)
{
	char *copy = malloc(text.length > 0 ? text.length : 1);
	struct config_complaint complaint;

	assert_non_null(copy);
	assert_true(row->type->size <= TYPE_VALUE_SIZE_MAX);
	memcpy(copy, text.data, text.length);
	memset(place, TYPE_PLACE_FILLER, TYPE_VALUE_SIZE_MAX);
	complaint = row->type->parse(row, config, str_slice(copy, text.length), place);
	memset(copy, 'x', text.length);
	free(copy);
	return complaint;
}

/* Whether PLACE is as parse_exactly() has filled it, but for the bytes of a value. */
static inline bool is_untouched(const unsigned char *place, size_t value_size)
{
	for (size_t i = value_size; i < TYPE_VALUE_SIZE_MAX; i++)
		if (place[i] != TYPE_PLACE_FILLER)
			return false;
	return true;
}

/* What becomes of TEXT: "= PRINTED", or the complaint. What is printed is accepted, and printed the
 * same again; what is refused has left nothing. Until the next call. */
static inline const char *outcome_of_value(const struct config_setting *row,
					   const struct config *config, struct str text)
{
	unsigned char place[TYPE_VALUE_SIZE_MAX] __attribute__((aligned(16)));
	static struct buffer out;
	struct buffer again CLEANUP(buffer_clear) = {0};
	struct config_complaint complaint = parse_exactly(row, config, text, place);
	struct str printed;

	buffer_clear(&out);
	if (complaint.message != NULL) {
		assert_true(is_untouched(place, 0));
		return complaint.message;
	}
	assert_true(is_untouched(place, row->type->size));
	buffer_append_string(&out, "= ");
	row->type->print(row, place, &out);
	printed = str_skip(buffer_view(&out), 2);
	if (!row->type->is_secret) {
		assert_null(parse_exactly(row, config, printed, place).message);
		row->type->print(row, place, &again);
		assert_true(str_equal(buffer_view(&again), printed));
	}
	buffer_append_byte(&out, '\0');
	return buffer_data(&out);
}

/* Calls TRY with TEXT, and with each text that is it without a byte, or with one of LETTERS in
 * place of a byte or before it. */
static inline void try_near(const char *text, const char *letters,
			    void (*try)(void *context, struct str text), void *context)
{
	size_t length = strlen(text);
	char near[1000];

	assert_true(length + 1 < sizeof near);
	try(context, str_from(text));
	for (size_t at = 0; at <= length; at++) {
		if (at < length) {
			memcpy(near, text, at);
			memcpy(near + at, text + at + 1, length - at - 1);
			try(context, str_slice(near, length - 1));
		}
		for (const char *letter = letters; *letter != '\0'; letter++) {
			memcpy(near, text, at);
			near[at] = *letter;
			memcpy(near + at + 1, text + at, length - at);
			try(context, str_slice(near, length + 1));
			if (at < length) {
				memcpy(near + at + 1, text + at + 1, length - at - 1);
				try(context, str_slice(near, length));
			}
		}
	}
}

#endif
