// SPDX-License-Identifier: ISC
/* Names of folders in modified UTF-7. */
#include "base/text/utf8.h"
#include "filing/mailstore/internal.h"
#include <errno.h>

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,";

/* A run of characters other than printable ASCII: UTF-16 in base64 without padding. */
struct run {
	struct buffer *out;
	uint32_t bits;
	unsigned count; /* of bits that wait */
	bool is_open;
};

static void run_add(struct run *run, uint32_t unit)
{
	if (!run->is_open)
		buffer_append_byte(run->out, '&');
	run->is_open = true;
	run->bits = run->bits << 16 | unit;
	run->count += 16;
	while (run->count >= 6) {
		run->count -= 6;
		buffer_append_byte(run->out, DIGITS[run->bits >> run->count & 63]);
		run->bits &= (UINT32_C(1) << run->count) - 1;
	}
}

static void run_add_character(struct run *run, uint32_t character)
{
	if (character < 0x10000) {
		run_add(run, character);
		return;
	}
	run_add(run, 0xd800 + ((character - 0x10000) >> 10));
	run_add(run, 0xdc00 + ((character - 0x10000) & 0x3ff));
}

static void run_end(struct run *run)
{
	if (!run->is_open)
		return;
	if (run->count > 0)
		buffer_append_byte(run->out, DIGITS[run->bits << (6 - run->count) & 63]);
	buffer_append_byte(run->out, '-');
	*run = (struct run){.out = run->out};
}

static void append_plain_folder_byte(struct run *run, char byte)
{
	run_end(run);
	buffer_append_byte(run->out, byte);
	if (byte == '&')
		buffer_append_byte(run->out, '-');
}

static bool append_level(struct run *run, struct str level, char separator)
{
	if (level.length == 0)
		return false;
	while (level.length > 0) {
		size_t length = utf8_length(level);
		uint32_t character = length > 0 ? utf8_code_point(level) : 0;

		if (character < ' ' || (character >= 0x7f && character < 0xa0) ||
		    character == (unsigned char)separator)
			return false;
		if (character < 0x7f)
			append_plain_folder_byte(run, (char)character);
		else
			run_add_character(run, character);
		level = str_skip(level, length);
	}
	run_end(run);
	return true;
}

bool mailstore_folder_is_inbox(struct str folder)
{
	return str_equal_nocase(folder, STR("INBOX"));
}

int mailstore_folder_append(struct str folder, char separator, struct buffer *out)
{
	size_t before = out->length;
	struct run run = {.out = out};
	struct str level;
	/* a name that begins with '~' means a user's home to servers */
	bool is_valid = folder.length > 0 && folder.data[0] != '~';

	while (is_valid && str_split(&folder, '/', &level)) {
		if (out->length > before)
			buffer_append_byte(out, separator);
		/* of the levels '/' has been taken out */
		if (out->length == before && mailstore_folder_is_inbox(level))
			level = STR("INBOX"); /* as servers write what is below it */
		is_valid = append_level(&run, level, separator);
	}
	if (is_valid)
		return 0;
	buffer_truncate(out, before);
	return -EINVAL;
}
