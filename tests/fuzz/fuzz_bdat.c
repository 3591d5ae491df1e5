// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_bdat.c - messages in chunks (RFC 3030).
 *
 * The first byte chooses as in fuzz_smtp_server.c, the others are turns of a client: a
 * byte that says which, then a text. While every chunk is as long as it says, this
 * file knows by itself what each message must be; whole and in pieces must come to
 * the same in any case.
 */
#include "base/panic.h"
#include "input.h"
#include "server_play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum turn {
	TURN_CHUNK,
	TURN_SHORT,
	TURN_LAST,
	TURN_EMPTY_LAST,
	TURN_BEGIN,
	TURN_COMMAND,
	TURN_LIE,
	TURN_RAW
};

static const char *const commands[] = {
	"RSET\r\n",
	"NOOP\r\n",
	"EHLO c\r\n",
	"MAIL FROM:<a@b.example>\r\n",
	"RCPT TO:<c@d.example>\r\n",
	"BDAT\r\n",
	"bdat 0\r\n",
	"QUIT\r\n",
	"MAIL FROM:<> SIZE=9 BODY=8BITMIME\r\n",
	"RCPT TO:<postmaster>\r\n",
	"VRFY x\r\n",
	"LHLO c\r\n",
};

struct play {
	struct session session;
	struct buffer sent;    /* by the client, all of it */
	struct buffer pending; /* what the accepted chunks of this message hold */
	bool is_known;         /* PENDING is what the server must have */
};

/* The code of the first reply after POSITION of the output. */
static bool was_accepted(const struct play *play, size_t position)
{
	struct str output = str_skip(buffer_view(&play->session.output), position);

	return output.length > 0 && output.data[0] == '2';
}

static void check_message(const struct play *play, size_t position)
{
	struct str message = str_skip(buffer_view(&play->session.messages), position);
	struct buffer expected = {0};

	if (has_bare_line_end(buffer_view(&play->pending)))
		panic("a message with a bare CR or LF was taken");
	append_arrived(&expected, buffer_view(&play->pending));
	check_equal(message, buffer_view(&expected), "chunks and message");
	buffer_clear(&expected);
}

static void say(struct play *play, struct str text)
{
	buffer_append_str(&play->sent, text);
	session_feed(&play->session, text.data, text.length);
	server_play_check(&play->session);
}

static void send_chunk(struct play *play, struct str text, size_t length, bool is_last)
{
	size_t messages = play->session.messages.length;
	size_t count = play->session.message_count;
	size_t replies = play->session.output.length;
	struct buffer command = {0};

	buffer_append_format(&command, "BDAT %zu%s\r\n", length, is_last ? " LAST" : "");
	buffer_append_str(&command, text);
	say(play, buffer_view(&command));
	buffer_clear(&command);
	if (!play->is_known)
		return;
	if (was_accepted(play, replies))
		buffer_append_str(&play->pending, text);
	else
		buffer_reset(&play->pending);
	if (!is_last && play->session.message_count != count)
		panic("a message before its last chunk");
	if (is_last && play->session.message_count != count)
		check_message(play, messages);
	if (is_last)
		buffer_reset(&play->pending);
}

/* What is no chunk queues nothing. What is accepted of it, NOOP and VRFY apart, ends the
 * transaction: in one that has chunks no MAIL or RCPT is. */
static void send_command(struct play *play, const char *command)
{
	size_t count = play->session.message_count;
	size_t replies = play->session.output.length;

	say(play, str_from(command));
	if (!play->is_known)
		return;
	if (play->session.message_count != count && command[0] != 'b')
		panic("a message by a command that is no BDAT");
	if (command[0] == 'R' && command[1] == 'S' && was_accepted(play, replies))
		buffer_reset(&play->pending);
	if (command[1] == 'H' && was_accepted(play, replies))
		buffer_reset(&play->pending);
	if (command[0] == 'M' && was_accepted(play, replies) && play->pending.length > 0)
		panic("MAIL was accepted amid a message");
}

static void take_turn(struct play *play, struct input *input)
{
	unsigned byte = input_byte(input);
	struct str text;

	switch ((enum turn)(byte & 7)) {
	case TURN_CHUNK:
		text = input_text(input);
		send_chunk(play, text, text.length, false);
		break;
	case TURN_SHORT: {
		char both = (char)(byte >> 3);

		send_chunk(play, str_slice(&"\r\n.\0 a\r\n"[both & 7], 1), 1, false);
		break;
	}
	case TURN_LAST:
		text = input_text(input);
		send_chunk(play, text, text.length, true);
		break;
	case TURN_EMPTY_LAST:
		send_chunk(play, STR(""), 0, true);
		break;
	case TURN_BEGIN:
		send_command(play, commands[3]);
		send_command(play, commands[4]);
		break;
	case TURN_COMMAND:
		send_command(play, commands[(byte >> 3) % COUNT_OF(commands)]);
		break;
	case TURN_LIE:
		play->is_known = false;
		text = input_text(input);
		send_chunk(play, text, input_byte(input), byte & 8);
		break;
	case TURN_RAW:
		play->is_known = false;
		say(play, input_text(input));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {str_slice((const char *)data, size)};
	unsigned choice = input_byte(&input);
	struct play play = {.is_known = true};
	struct session pieces;
	struct str sent;

	server_play_begin(&play.session, choice, 0);
	send_command(&play, choice & SERVER_PLAY_LMTP ? "LHLO c\r\n" : "EHLO c\r\n");
	while (input.rest.length > 0 && !smtp_server_is_closed(play.session.server))
		take_turn(&play, &input);
	server_play_check_result(&play.session);
	server_play_begin(&pieces, choice, 1 + (size_t)(choice >> 5));
	sent = buffer_view(&play.sent);
	session_feed(&pieces, sent.data, sent.length);
	server_play_check(&pieces);
	server_play_check_equal(&play.session, &pieces);
	session_clear(&play.session);
	session_clear(&pieces);
	buffer_clear(&play.sent);
	buffer_clear(&play.pending);
	return 0;
}
