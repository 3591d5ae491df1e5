// SPDX-License-Identifier: ISC
/* Foreign text of a few pieces, against a plain second reading of what is left of it; and copies of
 * what was decoded. */
#include "../../mail/each_text.h"
#include "base/buffer.h"
#include "decode_text.h"
#include "filing/decode/internal_text.h"
#include "filing/decode/message.h"

#define E_ACUTE "\xc3\xa9"
#define C1      "\xc2\x85"
#define LINE    "\xe2\x80\xa8" /* U+2028 */
#define INSTEAD "\xef\xbf\xbd" /* U+FFFD */

/* The pieces, and what each becomes; a blank is one only after something that is none. */
static const struct {
	const char *piece, *clean;
	bool is_blank;
} PIECES[] = {{"a", "a", false},       {"B", "B", false}, {" ", " ", false},
	      {"\n", " ", true},       {"\t", " ", true}, {"\x7f", " ", true},
	      {C1, " ", true},         {LINE, " ", true}, {E_ACUTE, E_ACUTE, false},
	      {"\xff", INSTEAD, false}};

static struct arena *arena;

static void clean_plainly(const char *text, char *out)
{
	size_t length = 0, begin = 0;

	while (*text != '\0') {
		size_t i = 0;

		while (strncmp(text, PIECES[i].piece, strlen(PIECES[i].piece)) != 0)
			i++;
		if (!PIECES[i].is_blank || (length > 0 && out[length - 1] != ' ')) {
			strcpy(out + length, PIECES[i].clean);
			length += strlen(PIECES[i].clean);
		}
		text += strlen(PIECES[i].piece);
	}
	while (length > 0 && out[length - 1] == ' ')
		length--;
	out[length] = '\0';
	begin = strspn(out, " ");
	memmove(out, out + begin, length - begin + 1);
}

static void check_clean(struct str text)
{
	char copy[EACH_TEXT_MAX], wanted[3 * EACH_TEXT_MAX];
	struct str found = decode_text_clean(arena, copy_of(text, copy));
	bool is_clean = true;

	clean_plainly(copy, wanted);
	if (!str_equal(found, str_from(wanted)))
		fail_msg("\"" STR_FORMAT "\" is \"" STR_FORMAT "\"", STR_ARGUMENTS(text),
			 STR_ARGUMENTS(found));
	for (const char *c = copy; *c != '\0'; c++)
		is_clean = is_clean && *c != '\n' && *c != '\t' && *c != '\x7f' && *c != '\xff';
	is_clean = is_clean && strstr(copy, C1) == NULL && strstr(copy, LINE) == NULL;
	assert_int_equal(decode_text_is_clean(text, text.length), is_clean);
	assert_int_equal(decode_text_is_clean(text, 3), is_clean && text.length <= 3);
	str_lower(wanted, strlen(wanted));
	assert_true(str_equal(decode_text_word(arena, copy), str_from(wanted)));
	arena_reset(arena);
}

static void texts(void **state)
{
	struct pieces pieces = {.longest = 4, .by_chance = 3000};

	(void)state;
	arena = arena_new();
	for (size_t i = 0; i < COUNT_OF(PIECES); i++)
		pieces.of[i] = PIECES[i].piece;
	each_text_of(&pieces, check_clean);
	assert_int_equal(decode_text_clean(arena, NULL).length, 0);
	arena_free(arena);
}

/* Cut where a character ends. */
static void long_texts(void **state)
{
	(void)state;
	arena = arena_new();
	for (size_t before = 0; before <= 3; before++)
		for (size_t length = DECODE_TEXT_MAX - 4; length <= DECODE_TEXT_MAX + 4; length++) {
			char text[DECODE_TEXT_MAX + 20] = "";
			size_t whole = (DECODE_TEXT_MAX - before) / 2 * 2 + before;

			memset(text, 'x', before);
			while (strlen(text) + 2 <= length)
				strcat(text, E_ACUTE);
			whole = strlen(text) < whole ? strlen(text) : whole;
			assert_int_equal(decode_text_clean(arena, text).length, whole);
			assert_int_equal(decode_text_word(arena, text).length,
					 (DECODE_WORD_MAX - before) / 2 * 2 + before);
		}
	arena_free(arena);
}

/* Nothing of it is the other's memory. */
static void copies(void **state)
{
	struct arena *first = arena_new(), *second = arena_new();
	struct decode_message message = {.subject = arena_copy_str(first, STR("subject")),
					 .date_us = 7000000,
					 .problem = arena_copy_str(first, STR("problem"))};
	struct decode_message copy;
	struct buffer before CLEANUP(buffer_clear) = {0}, after CLEANUP(buffer_clear) = {0};

	(void)state;
	message.participant_count = 7;
	message.participants = arena_alloc(first, 7 * sizeof *message.participants);
	message.part_count = 9;
	message.parts = arena_alloc(first, 9 * sizeof *message.parts);
	for (size_t i = 0; i < message.participant_count; i++)
		message.participants[i] = (struct decode_participant){
			.role = (enum decode_role)(i % DECODE_ROLES),
			.address = arena_copy_str(first, STR("ann@a.test")),
			.name = arena_copy_str(first, STR("Ann"))};
	for (size_t i = 0; i < message.part_count; i++) {
		message.parts[i] =
			(struct decode_part){.number = arena_copy_str(first, STR("2.TEXT")),
					     .type = arena_copy_str(first, STR("text/plain")),
					     .charset = arena_copy_str(first, STR("utf-8")),
					     .disposition = arena_copy_str(first, STR("inline")),
					     .filename = arena_copy_str(first, STR("a file")),
					     .size = 77 + i};
		memset(message.parts[i].digest, (int)i, DECODE_DIGEST_SIZE);
	}
	decode_text_append(&before, &message);
	decode_message_copy(&message, second, &copy);
	for (size_t i = 0; i < copy.part_count; i++)
		assert_int_equal(copy.parts[i].digest[DECODE_DIGEST_SIZE - 1], i);
	arena_free(first);
	decode_text_append(&after, &copy);
	assert_true(str_equal(buffer_view(&after), buffer_view(&before)));
	arena_free(second);
}

static void roles(void **state)
{
	static const char *const names[] = {"from", "sender", "reply_to", "to", "cc", "bcc"};

	(void)state;
	for (size_t i = 0; i < DECODE_ROLES; i++)
		assert_string_equal(decode_role_name((enum decode_role)i), names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(copies),
		cmocka_unit_test(roles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
