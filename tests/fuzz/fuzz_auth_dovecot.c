// SPDX-License-Identifier: ISC
/* tests/fuzz/fuzz_auth_dovecot.c - lines of Dovecot's authentication service, and values in ours.
 */
#include "auth/server/dovecot/line.h"
#include "base/panic.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever is in a value, it is one word of one line, and Dovecot reads it as it was. */
static void check_value(struct str value)
{
	struct buffer text = {0};
	struct dovecot_line line;

	buffer_append_string(&text, "OK\t1");
	dovecot_line_append(&text, "user", value);
	if (str_find(buffer_view(&text), '\n') >= 0)
		panic("a value ends the line");
	if (dovecot_line_parse(buffer_view(&text), &line) != (value.length > 0))
		panic("a value is not read again");
	check_equal(buffer_view(&line.user), value, "values");
	dovecot_line_clear(&line);
	buffer_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_slice((const char *)data, size);
	struct str text;

	check_value(rest);
	while (str_split(&rest, '\n', &text)) {
		struct dovecot_line line;

		if (dovecot_line_parse(text, &line) && line.command == DOVECOT_OK &&
		    line.user.length == 0)
			panic("accepted without a user");
		dovecot_line_clear(&line);
	}
	return 0;
}
