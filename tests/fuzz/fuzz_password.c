// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_password.c - any text as a password and as what is kept of one: what is
 * prepared stays as it is when it is prepared again, and SCRAM keys read back as they were.
 */
#include "base/panic.h"
#include "base/text/utf8.h"
#include "directory/record/password.h"
#include "input.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_prepared(struct str prepared)
{
	struct buffer again = {0};

	if (prepared.length == 0 || prepared.length > DIRECTORY_PASSWORD_MAX)
		panic("a password of %zu bytes", prepared.length);
	for (struct str rest = prepared; rest.length > 0; rest = str_skip(rest, utf8_length(rest)))
		if (utf8_length(rest) == 0 || utf8_code_point(rest) < ' ')
			panic("a password with a control character, or not UTF-8");
	if (directory_password_prepare(prepared, &again) == 0)
		check_equal(buffer_view(&again), prepared, "passwords");
	buffer_clear(&again);
}

static void check_scram(struct str hash)
{
	struct directory_scram scram;
	struct directory_scram again;
	struct buffer text = {0};

	memset(&scram, 0, sizeof scram);
	if (directory_scram_parse(hash, &scram) < 0)
		return;
	directory_scram_print(&scram, &text);
	if (directory_scram_parse(buffer_view(&text), &again) < 0 ||
	    memcmp(&scram, &again, sizeof scram) != 0)
		panic("SCRAM keys do not read back");
	buffer_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	struct buffer prepared = {0};

	if (directory_password_prepare(text, &prepared) == 0)
		check_prepared(buffer_view(&prepared));
	else if (prepared.length > 0)
		panic("something of a refused password");
	check_scram(text);
	buffer_clear(&prepared);
	return 0;
}
