// SPDX-License-Identifier: ISC
/*
 * tests/transcript/smuggle.c - every string of up to five bytes out of CR, LF,
 * dot, NUL and "a" at the start, in the middle and at the end of a message,
 * whole and split at every byte: the engine sees the message's end exactly
 * where CRLF.CRLF is, or with BDAT where its chunks end, and keeps the very bytes
 * or refuses, or puts right what a rule lets it put right; SMTP and LMTP.
 *
 * What is right is found here in the plainest way, on the whole text.
 */
#include "common/line_ends.h"
#include "session.h"
#include <stdio.h>
#include <string.h>

static const struct str BEFORE = STR("MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\n");
static const struct str AFTER = STR("NOOP\r\n");

static struct smtp_server_rules rules;

static void unstuff(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != '.' ||
		    (i > 0 && (i < 2 || text.data[i - 1] != '\n' || text.data[i - 2] != '\r')))
			buffer_append_byte(out, text.data[i]);
}

static const char *refusal_of(struct str content)
{
	if (rules.bare_newline != SMTP_BARE_NEWLINE_NORMALIZE && has_bare_line_end(content))
		return "550 5.6.11 The message has a bare CR or LF\r\n";
	if (!rules.removes_nul && memchr(content.data, '\0', content.length) != NULL)
		return "550 5.6.0 A NUL is in the message\r\n";
	return NULL;
}

/* A LF is a line end with all CRs before it, as are CRs at the end. Other CRs are a space. */
static void put_line_ends_right(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		size_t first = i;

		while (i < text.length && text.data[i] == '\r')
			i++;
		if (i == text.length || text.data[i] == '\n') {
			buffer_append_string(out, "\r\n");
			continue;
		}
		if (i > first)
			buffer_append_byte(out, ' ');
		buffer_append_byte(out, text.data[i]);
	}
}

static void drop_nuls(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != '\0')
			buffer_append_byte(out, text.data[i]);
}

/* TEXT as it is kept: without NULs, and never a continuation of the trace header. */
static void put_right(struct str text, struct buffer *out)
{
	struct buffer lines = {0};
	struct buffer plain = {0};

	put_line_ends_right(text, &lines);
	drop_nuls(buffer_view(&lines), &plain);
	if (str_starts_with(buffer_view(&plain), STR(" ")))
		buffer_append_string(out, "\r\n");
	buffer_append_str(out, buffer_view(&plain));
	buffer_clear(&lines);
	buffer_clear(&plain);
}

static bool is_plain(struct str line)
{
	for (size_t i = 0; i < line.length; i++)
		if ((unsigned char)line.data[i] < ' ')
			return false;
	return true;
}

/* The replies to lines of which none is a command. */
static void refuse_lines(struct str text, struct buffer *out)
{
	const char *end;

	while ((end = memchr(text.data, '\n', text.length)) != NULL) {
		struct str line = str_slice(text.data, (size_t)(end - text.data));
		size_t length = line.length;

		line.length -= length > 0 && line.data[length - 1] == '\r';

		buffer_append_string(
			out, is_plain(line) ? "500 5.5.1 Unknown command\r\n"
					    : "500 5.5.2 Control characters, or a CR alone\r\n");
		text = str_skip(text, length + 1);
	}
}

/* What must come of DATA; TEXT is what follows DATA's CRLF. */
static void judge_data(struct str text, struct buffer *output, struct buffer *message)
{
	char framed[64] = "\r\n";
	const char *end;
	struct buffer unstuffed = {0};
	struct str content;

	memcpy(framed + 2, text.data, text.length);
	end = memmem(framed, text.length + 2, "\r\n.\r\n", 5);
	content = str_slice(text.data, (size_t)(end - framed));
	buffer_append_string(output, "354 End data with <CR><LF>.<CR><LF>\r\n");
	if (refusal_of(content) != NULL) {
		buffer_append_string(output, refusal_of(content));
	} else {
		unstuff(content, &unstuffed);
		put_right(buffer_view(&unstuffed), message);
		buffer_append_string(output, "250 2.0.0 queued\r\n");
	}
	buffer_clear(&unstuffed);
	refuse_lines(str_skip(text, content.length + 3), output);
	buffer_append_string(output, "250 2.0.0 Ok\r\n");
}

static void print(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		printf(text.data[i] > ' ' ? "%c" : "\\x%02x", (unsigned)text.data[i]);
	putchar('\n');
}

/* What must come of TEXT in chunks; REPLIES are to all but the last of them. */
static void judge_chunks(struct str text, const char *replies, struct buffer *output,
			 struct buffer *message)
{
	struct buffer ended = {0};
	bool is_ended = text.length > 0 && text.data[text.length - 1] == '\n';

	buffer_append_string(output, replies);
	if (refusal_of(text) != NULL) {
		buffer_append_string(output, refusal_of(text));
	} else {
		buffer_append_str(&ended, text);
		buffer_append_string(&ended, is_ended ? "" : "\r\n");
		put_right(buffer_view(&ended), message);
		buffer_append_string(output, "250 2.0.0 queued\r\n");
	}
	buffer_clear(&ended);
	buffer_append_string(output, "250 2.0.0 Ok\r\n");
}

/* COMMAND and TEXT, split in two at SPLIT; 0: byte by byte. */
static bool play_by(enum smtp_protocol protocol, struct str command, struct str text, size_t split,
		    struct str output, struct str message)
{
	struct str hello = protocol == SMTP_PROTOCOL_LMTP ? STR("LHLO x\r\n") : STR("EHLO x\r\n");
	struct session session;
	size_t replies;
	bool good;

	session_init(&session);
	session.service.protocol = protocol;
	session.service.limits.errors = 1000;
	session.service.rules = rules;
	session_start(&session);
	smtp_server_start(session.server);
	session_settle(&session);
	session_feed(&session, hello.data, hello.length);
	session_feed(&session, BEFORE.data, BEFORE.length);
	replies = session.output.length;
	session_feed(&session, command.data, command.length);
	if (split == 0)
		session.chunk = 1;
	else
		session_feed(&session, text.data, split);
	session_feed(&session, text.data + split, text.length - split);
	session_feed(&session, AFTER.data, AFTER.length);
	good = session.fault == NULL && session.message_count <= 1 &&
	       str_equal(str_skip(buffer_view(&session.output), replies), output) &&
	       str_equal(buffer_view(&session.messages), message);
	if (!good) {
		printf("split at %zu: ", split);
		print(text);
		print(buffer_view(&session.output));
	}
	session_clear(&session);
	return good;
}

static bool play(struct str command, struct str text, size_t split, struct str output,
		 struct str message)
{
	return play_by(SMTP_PROTOCOL_SMTP, command, text, split, output, message) &&
	       play_by(SMTP_PROTOCOL_LMTP, command, text, split, output, message);
}

static bool try_data(const char *before, struct str tested, const char *after)
{
	struct buffer text = {0};
	struct buffer output = {0};
	struct buffer message = {0};
	bool good = true;

	buffer_append_string(&text, before);
	buffer_append_str(&text, tested);
	buffer_append_string(&text, after);
	judge_data(buffer_view(&text), &output, &message);
	for (size_t split = 0; split <= text.length; split++)
		good = play(STR("DATA\r\n"), buffer_view(&text), split, buffer_view(&output),
			    buffer_view(&message)) &&
		       good;
	buffer_clear(&text);
	buffer_clear(&output);
	buffer_clear(&message);
	return good;
}

/* TEXT in two chunks, of which the first has SPLIT bytes; at once and byte by byte. */
static bool try_split(struct str text, size_t split)
{
	struct buffer commands = {0};
	struct buffer output = {0};
	struct buffer message = {0};
	bool good;

	buffer_append_format(&commands, "BDAT %zu\r\n", split);
	buffer_append(&commands, text.data, split);
	buffer_append_format(&commands, "BDAT %zu LAST\r\n", text.length - split);
	buffer_append_str(&commands, str_skip(text, split));
	judge_chunks(text, "250 2.0.0 Chunk ok\r\n", &output, &message);
	good = play(STR(""), buffer_view(&commands), commands.length, buffer_view(&output),
		    buffer_view(&message)) &&
	       play(STR(""), buffer_view(&commands), 0, buffer_view(&output),
		    buffer_view(&message));
	buffer_clear(&commands);
	buffer_clear(&output);
	buffer_clear(&message);
	return good;
}

static bool try_chunks(const char *before, struct str tested, const char *after)
{
	struct buffer text = {0};
	bool good = true;

	buffer_append_string(&text, before);
	buffer_append_str(&text, tested);
	buffer_append_string(&text, after);
	for (size_t split = 0; split <= text.length; split++)
		good = try_split(buffer_view(&text), split) && good;
	buffer_clear(&text);
	return good;
}

static bool try_all(struct str tested)
{
	return try_data("", tested, "\r\n.\r\n") && try_data("x", tested, "y\r\n.\r\n") &&
	       try_data("x\r\n", tested, "\r\n.\r\n") && try_chunks("", tested, "") &&
	       try_chunks("x\r\n", tested, "\r\n.\r\n");
}

int main(int argc, char **argv)
{
	size_t longest = short_string_length(argc, argv);
	int failed = try_short_strings(longest, try_all);

	rules = (struct smtp_server_rules){.bare_newline = SMTP_BARE_NEWLINE_NORMALIZE,
					   .removes_nul = true};
	return failed | try_short_strings(longest, try_all);
}
