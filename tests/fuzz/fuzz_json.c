// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_json.c - any bytes as JSON, as another node might send them: what is valid is walked
 * through to its ends, each part of it is valid, and each text is written and read back.
 */
#include "base/panic.h"
#include "base/text/json.h"
#include "base/text/json_read.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text_of_json(struct str value)
{
	struct buffer text = {0};
	struct buffer written = {0};
	struct buffer again = {0};

	if (json_text(value, &text)) {
		json_append_text(&written, buffer_view(&text));
		if (!json_is_valid(buffer_view(&written)) ||
		    !json_text(buffer_view(&written), &again))
			panic("what is written is not read");
		check_equal(buffer_view(&text), buffer_view(&again), "a text");
	}
	buffer_clear(&text);
	buffer_clear(&written);
	buffer_clear(&again);
}

static void walk_through_json(struct str value, unsigned depth)
{
	struct json_walk walk = json_walk_begin(value);
	struct str name;
	struct str inner;

	if (depth > JSON_DEPTH_MAX || !json_is_valid(value))
		panic("a part that is not valid, or too deep");
	check_text_of_json(value);
	while (json_walk_next(&walk, &name, &inner)) {
		if (walk.is_object != (name.length > 0))
			panic("a member without a name, or a value with one");
		if (walk.is_object)
			check_text_of_json(name);
		walk_through_json(inner, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_trim(str_slice((const char *)data, size));

	if (json_is_valid(text))
		walk_through_json(text, 0);
	return 0;
}
