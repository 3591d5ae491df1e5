// SPDX-License-Identifier: ISC
#include "decode_text.h"
#include "filing/decode/wire.h"
#include "ipc/pack.h"
#include "test.h"
#include <string.h>

#define EMPTY STR("")

static struct decode_participant participants[] = {
	{DECODE_FROM, STR("Lisa@gmail.com"), STR("Lisa")},
	{DECODE_BCC, STR("j\xc3\xb6rg@b.test"), STR("J\xc3\xb6rg")},
};
static struct decode_part parts[] = {
	{STR("TEXT"), STR("multipart/mixed"), EMPTY, EMPTY, EMPTY, 0, {0}},
	{STR("1"), STR("text/plain"), STR("utf-8"), STR("inline"), EMPTY, 12, {1, 2, 3}},
	{STR("2.1"),
	 STR("image/png"),
	 EMPTY,
	 STR("attachment"),
	 STR("\xe2\x82\xac.png"),
	 1 << 20,
	 {9}},
};
static const struct decode_message sample = {.subject = STR("Our next meeting"),
					     .date_us = -1000000,
					     .participants = participants,
					     .participant_count = COUNT_OF(participants),
					     .parts = parts,
					     .part_count = COUNT_OF(parts),
					     .problem = STR("malformed header")};

static bool reads(const struct decode_message *message)
{
	struct arena *arena = arena_new();
	struct buffer wire = {0};
	struct decode_message again;
	bool result;

	decode_wire_append(&wire, message);
	result = decode_wire_read(buffer_view(&wire), arena, &again);
	buffer_clear(&wire);
	arena_free(arena);
	return result;
}

static void a_message_comes_back(void **state)
{
	struct arena *arena = arena_new();
	struct buffer wire = {0};
	struct buffer before = {0};
	struct buffer after = {0};
	struct decode_message again;

	(void)state;
	decode_wire_append(&wire, &sample);
	assert_true(decode_wire_read(buffer_view(&wire), arena, &again));
	memset(buffer_data(&wire), 'x', wire.length); /* nothing refers to it */
	decode_text_append(&before, &sample);
	decode_text_append(&after, &again);
	assert_true(str_equal(buffer_view(&before), buffer_view(&after)));
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		assert_memory_equal(again.parts[i].digest, parts[i].digest, DECODE_DIGEST_SIZE);
	buffer_clear(&wire);
	buffer_clear(&before);
	buffer_clear(&after);
	arena_free(arena);
}

static void what_is_not_whole_is_refused(void **state)
{
	struct buffer wire = {0};
	struct decode_message again;

	(void)state;
	decode_wire_append(&wire, &sample);
	buffer_append_byte(&wire, '\0');
	for (size_t length = 0; length <= wire.length; length++) {
		struct arena *arena = arena_new();

		assert_int_equal(
			decode_wire_read(str_slice(buffer_data(&wire), length), arena, &again),
			length == wire.length - 1);
		arena_free(arena);
	}
	buffer_clear(&wire);
}

/* Each thing that a decoder must not say, once. */
static void promises_are_checked(void **state)
{
	static char long_text[DECODE_PROBLEM_MAX + 2];
	const struct str too_long = str_slice(long_text, DECODE_TEXT_MAX + 1);
	const struct str bad_texts[] = {too_long,           STR("a\nb"), STR("\x7f"),
					STR("\xc2\x80"),    STR("\xff"), STR("a\0b"),
					STR("\xe2\x80\xa8")};
	const struct str bad_addresses[] = {STR(""), STR("no domain"), STR("a@B.test"),
					    STR("a@b\n.test"), STR("a b@c.test")};
	const struct str bad_numbers[] = {STR(""), STR("a"), STR("1 "), STR("1'")};

	(void)state;
	memset(long_text, 'x', sizeof long_text);
	assert_true(reads(&sample));
	for (size_t i = 0; i < COUNT_OF(bad_texts); i++) {
		struct decode_participant participant = participants[0];
		struct decode_part part = parts[1];
		struct decode_message message = sample;

		message.subject = bad_texts[i];
		assert_false(reads(&message));
		message = (struct decode_message){
			.subject = EMPTY, .participants = &participant, .participant_count = 1};
		assert_true(reads(&message));
		participant.name = bad_texts[i];
		assert_false(reads(&message));
		message =
			(struct decode_message){.subject = EMPTY, .parts = &part, .part_count = 1};
		assert_true(reads(&message));
		part.filename = bad_texts[i];
		assert_false(reads(&message));
		part = parts[1];
		part.type = bad_texts[i];
		assert_false(reads(&message));
	}
	for (size_t i = 0; i < COUNT_OF(bad_addresses); i++) {
		struct decode_participant participant = participants[0];
		struct decode_message message = {
			.subject = EMPTY, .participants = &participant, .participant_count = 1};

		participant.address = bad_addresses[i];
		assert_false(reads(&message));
	}
	for (size_t i = 0; i < COUNT_OF(bad_numbers); i++) {
		struct decode_part part = parts[1];
		struct decode_message message = {.subject = EMPTY, .parts = &part, .part_count = 1};

		part.number = bad_numbers[i];
		assert_false(reads(&message));
	}
	assert_false(reads(&(struct decode_message){
		.subject = EMPTY, .problem = str_slice(long_text, DECODE_PROBLEM_MAX + 1)}));
	assert_false(reads(&(struct decode_message){.subject = EMPTY, .date_us = INT64_MIN}));
	assert_false(reads(&(struct decode_message){.subject = EMPTY, .date_us = INT64_MAX}));
	participants[0].role = DECODE_ROLES;
	assert_false(reads(&sample));
	participants[0].role = DECODE_FROM;
	parts[1].type = STR("Text/plain");
	assert_false(reads(&sample));
	parts[1].type = STR("text/plain");
	parts[1].size = UINT64_MAX;
	assert_false(reads(&sample));
	parts[1].size = 12;
	assert_true(reads(&sample));
}

/* As long as it may be, and one byte longer. */
static void words_are_so_long(void **state)
{
	char text[DECODE_WORD_MAX + 1];

	(void)state;
	memset(text, '1', sizeof text);
	for (size_t which = 0; which < 4; which++)
		for (size_t length = DECODE_WORD_MAX; length <= DECODE_WORD_MAX + 1; length++) {
			struct decode_part part = parts[1];
			struct str *const words[] = {&part.number, &part.type, &part.charset,
						     &part.disposition};
			struct decode_message message = {
				.subject = EMPTY, .parts = &part, .part_count = 1};

			*words[which] = str_slice(text, length);
			assert_int_equal(reads(&message), length == DECODE_WORD_MAX);
		}
}

/* Counts that promise more than there is, or more than there may be, cost nothing. */
static void counts_are_limited(void **state)
{
	static const uint32_t counts[] = {1, DECODE_PARTICIPANT_MAX, DECODE_PARTICIPANT_MAX + 1,
					  UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		struct arena *arena = arena_new();
		struct buffer wire = {0};
		struct decode_message message;

		pack_str(&wire, EMPTY);
		pack_u64(&wire, 0);
		pack_u32(&wire, counts[i]);
		assert_false(decode_wire_read(buffer_view(&wire), arena, &message));
		buffer_reset(&wire);
		pack_str(&wire, EMPTY);
		pack_u64(&wire, 0);
		pack_u32(&wire, 0);
		pack_u32(&wire, counts[i]);
		assert_false(decode_wire_read(buffer_view(&wire), arena, &message));
		buffer_clear(&wire);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_comes_back),
		cmocka_unit_test(what_is_not_whole_is_refused),
		cmocka_unit_test(promises_are_checked),
		cmocka_unit_test(words_are_so_long),
		cmocka_unit_test(counts_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
