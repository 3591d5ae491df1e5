// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_stuffing.c - a message on its way out by DATA and in again.
 *
 * The first byte is the size of the pieces it is given in, the others are the message.
 * What has no bare CR or LF, and no NUL, arrives as it was sent, as one message, with no byte of
 * it taken for a command; what has a bare CR or LF is refused, in pieces as well as whole. Where
 * long lines are broken, nothing else changes.
 */
#include "base/panic.h"
#include "input.h"
#include "server_play.h"
#include "smtp/client/stuffing.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool stuff(struct str message, size_t step, struct buffer *out)
{
	struct smtp_stuffing stuffing = {0};

	for (size_t i = 0; i < message.length; i += step) {
		size_t left = message.length - i;

		if (!smtp_stuffing_append(
			    &stuffing, str_slice(message.data + i, left < step ? left : step), out))
			return false;
	}
	return smtp_stuffing_end(&stuffing, out);
}

/* Lines that are not too long, and nothing but breaks added. */
static void check_broken(struct str message, struct str stuffed)
{
	struct smtp_stuffing stuffing = {.breaks_lines = true};
	struct buffer broken = {0};
	struct str rest;
	struct str line;

	if (!smtp_stuffing_append(&stuffing, message, &broken) ||
	    !smtp_stuffing_end(&stuffing, &broken))
		panic("breaks make a good message a bad one");
	rest = buffer_view(&broken);
	while (rest.length > 0 && str_split(&rest, '\n', &line)) {
		size_t kept = line.length - 1 - (line.data[0] == '.');

		if (kept > SMTP_STUFFING_LINE_MAX)
			panic("a line of %zu bytes", kept);
		if (!str_starts_with(stuffed, str_slice(line.data, line.length - 1))) {
			line = str_skip(line, 1); /* the space that a break has added */
			if (!str_starts_with(stuffed, str_slice(line.data, line.length - 1)))
				panic("more changed than breaks");
		}
		stuffed = str_skip(stuffed, line.length - 1);
		if (str_starts_with(stuffed, STR("\r\n")))
			stuffed = str_skip(stuffed, 2);
	}
	if (stuffed.length > 0)
		panic("the message's end was lost");
	smtp_stuffing_clear(&stuffing);
	buffer_clear(&broken);
}

static void check_arrival(struct str message, struct str stuffed)
{
	static const struct str before =
		STR("EHLO c\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\nDATA\r\n");
	struct buffer expected = {0};
	struct session session;

	server_play_begin(&session, 0, 0);
	session.service.limits.hops = UINT32_MAX;
	session_feed(&session, before.data, before.length);
	session_feed(&session, stuffed.data, stuffed.length);
	server_play_check(&session);
	server_play_check_result(&session);
	if (session.message_count != 1 || !smtp_server_is_ready(session.server) ||
	    smtp_server_is_receiving(session.server) || session.kept.length > 0)
		panic("the message's end is not where it was sent");
	append_arrived(&expected, message);
	check_equal(buffer_view(&session.messages), buffer_view(&expected), "sent and arrived");
	buffer_clear(&expected);
	session_clear(&session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer whole = {0};
	struct buffer pieces = {0};
	struct str message;
	bool is_good;

	if (size == 0)
		return 0;
	message = str_slice((const char *)data + 1, size - 1);
	is_good = stuff(message, message.length + 1, &whole);
	if (is_good != stuff(message, 1 + (data[0] & 15), &pieces))
		panic("whole and in pieces differ");
	if (is_good == has_bare_line_end(message))
		panic("a bare CR or LF was overlooked, or seen where none is");
	if (is_good) {
		check_equal(buffer_view(&whole), buffer_view(&pieces), "whole and in pieces");
		check_broken(message, buffer_view(&whole));
		if (memchr(message.data, '\0', message.length) == NULL) /* is refused */
			check_arrival(message, buffer_view(&whole));
	}
	buffer_clear(&whole);
	buffer_clear(&pieces);
	return 0;
}
