/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/mail/each_text.h - all short texts of a few pieces, and long ones by chance, for a
 * second, plain reading of what each is.
 */
#ifndef TESTS_UNIT_MAIL_EACH_TEXT_H
#define TESTS_UNIT_MAIL_EACH_TEXT_H

#include "../chance.h"
#include "base/attributes.h"
#include "base/str.h"
#include "test.h"
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { EACH_TEXT_MAX = 512 };

struct pieces {
	const char *of[16]; /* up to the first NULL */
	size_t longest;     /* of all texts of so many pieces */
	size_t by_chance;   /* others, of up to 12 */
};

typedef void text_check(struct str text);

static inline size_t count_pieces(const struct pieces *pieces)
{
	size_t count = 0;

	while (count < COUNT_OF(pieces->of) && pieces->of[count] != NULL)
		count++;
	return count;
}

/* In memory that ends where it does. */
static inline void check_copy(text_check *check, const char *text)
{
	size_t length = strlen(text);
	char *copy = malloc(length + 1);

	assert_non_null(copy);
	memcpy(copy + 1, text, length);
	check(str_slice(copy + 1, length));
	free(copy);
}

static inline void check_text_of(const struct pieces *pieces, size_t number, size_t length,
				 text_check *check)
{
	size_t count = count_pieces(pieces);
	char text[EACH_TEXT_MAX] = "";

	for (size_t i = 0; i < length; i++, number /= count)
		strcat(text, pieces->of[number % count]);
	check_copy(check, text);
}

static inline void each_text_of(const struct pieces *pieces, text_check *check)
{
	size_t count = count_pieces(pieces), texts = 1;

	for (size_t length = 0; length <= pieces->longest; length++, texts *= count)
		for (size_t number = 0; number < texts; number++)
			check_text_of(pieces, number, length, check);
	for (size_t i = 0; i < pieces->by_chance; i++) {
		char text[EACH_TEXT_MAX] = "";

		for (size_t left = 1 + chance(12); left > 0; left--)
			strcat(text, pieces->of[chance(count)]);
		check_copy(check, text);
	}
}

/* Whether TEXT, which has no NUL, is what the extended regular expression says, as a whole. */
struct form {
	const char *expression;
	regex_t compiled;
	bool is_compiled;
};

static inline bool has_form(struct form *form, const char *text)
{
	if (!form->is_compiled)
		assert_int_equal(
			regcomp(&form->compiled, form->expression, REG_EXTENDED | REG_NOSUB), 0);
	form->is_compiled = true;
	return regexec(&form->compiled, text, 0, NULL, 0) == 0;
}

static inline void free_form(struct form *form)
{
	if (form->is_compiled)
		regfree(&form->compiled);
	form->is_compiled = false;
}

/* TEXT with a NUL. */
static inline char *copy_of(struct str text, char copy[EACH_TEXT_MAX])
{
	assert_true(text.length < EACH_TEXT_MAX);
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	return copy;
}

#endif
