// SPDX-License-Identifier: ISC
/*
 * tests/transcript/smuggle_client.c - every string of up to five bytes out of CR,
 * LF, dot, NUL and "a" in a message that the client sends, at its start, in its
 * middle and before a second transaction at its end, by SMTP and LMTP, whole and
 * split at every byte. A server that is told nothing but the bytes finds one message
 * with the same content, or the session is cut and there is no end of a message;
 * no bare CR or LF is on the wire either way.
 */
#include "base/buffer.h"
#include "common/line_ends.h"
#include "smtp/client/client.h"
#include <stdio.h>
#include <string.h>

static const struct str EVIL =
	STR("MAIL FROM:<evil@x>\r\nRCPT TO:<c@d>\r\nDATA\r\n\r\nevil\r\n.\r\nQUIT\r\n");

struct sent {
	struct buffer wire; /* after the reply to DATA */
	bool is_cut;        /* the client ended the session */
	const struct mail_verdict *verdict;
};

static void take(struct smtp_client *client, struct buffer *wire)
{
	struct str output = smtp_client_output(client);

	buffer_append_str(wire, output);
	smtp_client_sent(client, output.length);
}

static void say(struct smtp_client *client, const char *reply)
{
	struct buffer ignored = {0};

	take(client, &ignored);
	buffer_clear(&ignored);
	smtp_client_input(client, str_from(reply));
}

/* TEXT in two pieces; LENGTH 0: byte by byte. */
static void give(struct smtp_client *client, struct str text, size_t length, struct buffer *wire)
{
	size_t step = length > 0 ? length : 1;

	while (text.length > 0 && smtp_client_status(client) == SMTP_CLIENT_WANTS_DATA) {
		if (step > text.length)
			step = text.length;
		smtp_client_data(client, str_slice(text.data, step), step == text.length);
		take(client, wire);
		text = str_skip(text, step);
		step = length > 0 && text.length > 0 ? text.length : 1;
	}
}

/* What a server takes for the message: the text before the first CRLF.CRLF, without
 * the stuffing. False when there is no such end, or something after it. */
static bool receive(struct str wire, struct buffer *message)
{
	bool is_start = true;

	for (size_t i = 0; i < wire.length; i++) {
		struct str rest = str_skip(wire, i);

		if (is_start && str_starts_with(rest, STR(".\r\n")))
			return rest.length == 3;
		if (is_start && rest.data[0] == '.')
			i++;
		if (i < wire.length)
			buffer_append_byte(message, wire.data[i]);
		is_start = i > 0 && wire.data[i] == '\n' && wire.data[i - 1] == '\r';
	}
	return false;
}

/* Up to where the connection is closed: a CR there is followed by nothing. */
static struct str before_last_cr(struct str wire)
{
	if (wire.length > 0 && wire.data[wire.length - 1] == '\r')
		wire.length--;
	return wire;
}

static bool has_end(struct str wire)
{
	return str_starts_with(wire, STR(".\r\n")) ||
	       memmem(wire.data, wire.length, "\n.\r", 3) != NULL;
}

static bool is_whole(struct str text, struct str wire)
{
	struct buffer message = {0};
	struct buffer wanted = {0};
	bool is_same;

	buffer_append_str(&wanted, text);
	if (text.length == 0 || text.data[text.length - 1] != '\n')
		buffer_append_string(&wanted, "\r\n");
	is_same = receive(wire, &message) && str_equal(buffer_view(&message), buffer_view(&wanted));
	buffer_clear(&message);
	buffer_clear(&wanted);
	return is_same;
}

/* A bare CR or LF is all that a message is refused for. */
static bool is_right(struct str text, const struct sent *sent)
{
	struct str wire = buffer_view(&sent->wire);
	bool is_bad = has_bare_line_end(text);

	if (has_bare_line_end(before_last_cr(wire)) || sent->is_cut != is_bad)
		return false;
	if (!is_bad)
		return is_whole(text, wire) && sent->verdict->class == MAIL_OK;
	return !has_end(wire) && strcmp(sent->verdict->status, "5.6.11") == 0;
}

static bool try(enum smtp_client_protocol protocol, struct str text, size_t split)
{
	struct smtp_client_settings settings = {protocol, "us", "them", 1};
	struct smtp_client_recipient recipient = {.address = STR("c@d")};
	struct smtp_client_message message = {
		.size = text.length, .recipients = &recipient, .recipient_count = 1};
	struct smtp_client *client = smtp_client_new(&settings);
	struct sent sent = {0};
	bool good;

	smtp_client_begin(client, &message);
	say(client, "220 them\r\n");
	say(client, "250-them\r\n250 PIPELINING\r\n");
	say(client, "250 ok\r\n250 ok\r\n354 go\r\n");
	give(client, text, split, &sent.wire);
	sent.is_cut = smtp_client_status(client) == SMTP_CLIENT_CLOSED;
	say(client, "250 ok\r\n");
	sent.verdict = recipient.verdict;
	good = is_right(text, &sent);
	if (!good) {
		printf("split at %zu: ", split);
		for (size_t i = 0; i < text.length; i++)
			printf("%02x", (unsigned char)text.data[i]);
		putchar('\n');
	}
	buffer_clear(&sent.wire);
	smtp_client_free(client);
	return good;
}

static bool try_splits(struct str before, struct str tested, struct str after)
{
	struct buffer text = {0};
	bool good = true;

	buffer_append_str(&text, before);
	buffer_append_str(&text, tested);
	buffer_append_str(&text, after);
	for (size_t split = 0; split <= before.length + tested.length + 2 && split < text.length;
	     split++)
		good = try(SMTP_CLIENT_SMTP, buffer_view(&text), split) &&
		       try(SMTP_CLIENT_LMTP, buffer_view(&text), split) && good;
	buffer_clear(&text);
	return good;
}

static bool try_all(struct str tested)
{
	return try_splits(STR(""), tested, STR("")) && try_splits(STR("x"), tested, STR("y\r\n")) &&
	       try_splits(STR("x\r\n"), tested, EVIL) && try_splits(STR("x"), tested, EVIL);
}

int main(int argc, char **argv)
{
	return try_short_strings(short_string_length(argc, argv), try_all);
}
