// SPDX-License-Identifier: ISC
#include "supervisor/talk/lmtp.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <errno.h>

enum { REPLY_MAX = 8192, PIECE = 1024 };

static const int64_t PATIENCE_US = 5 * SECOND_US;

struct dialogue {
	int socket;
	int64_t until_us;
	struct buffer input;
	struct buffer line; /* the last one of the last reply */
};

/* Waits for the socket, but not longer than all may take. */
static int wait_for_dialogue_socket(const struct dialogue *dialogue, bool for_writing)
{
	int64_t left_us = dialogue->until_us - os_clock_monotonic_us();

	return left_us > 0 ? os_socket_wait(dialogue->socket, for_writing, left_us) : -ETIMEDOUT;
}

static int send_dialogue_text(struct dialogue *dialogue, struct buffer *text)
{
	while (text->length > 0) {
		int error = wait_for_dialogue_socket(dialogue, true);
		ssize_t count = error < 0 ? error
					  : os_socket_write(dialogue->socket, buffer_data(text),
							    text->length);

		if (count < 0 && count != -EAGAIN)
			return (int)count;
		buffer_consume(text, count > 0 ? (size_t)count : 0);
	}
	return 0;
}

static int read_reply_line(struct dialogue *dialogue)
{
	ptrdiff_t end;

	while ((end = str_find(buffer_view(&dialogue->input), '\n')) < 0) {
		int error = wait_for_dialogue_socket(dialogue, false);
		ssize_t count = error;

		if (error == 0)
			count = os_socket_read(dialogue->socket,
					       buffer_reserve(&dialogue->input, PIECE), PIECE);
		if (count == 0 || (count < 0 && count != -EAGAIN))
			return count == 0 ? -ECONNRESET : (int)count;
		if (count > 0)
			buffer_commit(&dialogue->input, (size_t)count);
		if (dialogue->input.length > REPLY_MAX)
			return -EMSGSIZE;
	}
	buffer_reset(&dialogue->line);
	buffer_append(&dialogue->line, buffer_data(&dialogue->input), (size_t)end);
	buffer_consume(&dialogue->input, (size_t)end + 1);
	return 0;
}

/* The first digit of the reply, whose last line is in LINE; or -errno. */
static int read_lmtp_reply(struct dialogue *dialogue)
{
	struct str line;
	int error;

	do {
		error = read_reply_line(dialogue);
		line = buffer_view(&dialogue->line);
	} while (error == 0 && line.length > 3 && line.data[3] == '-');
	if (error < 0)
		return error;
	if (line.length > 0 && line.data[line.length - 1] == '\r')
		buffer_truncate(&dialogue->line, line.length - 1);
	return line.length >= 3 && line.data[0] >= '2' && line.data[0] <= '5' ? line.data[0] - '0'
									      : -EPROTO;
}

/* Says COMMAND with its ARGUMENT; its reply as read_lmtp_reply() has it. */
static int ask_recipient(struct dialogue *dialogue, const char *command, struct str argument,
			 const char *end)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int error;

	buffer_append_format(&text, "%s" STR_FORMAT "%s\r\n", command, STR_ARGUMENTS(argument),
			     end);
	error = send_dialogue_text(dialogue, &text);
	return error < 0 ? error : read_lmtp_reply(dialogue);
}

/* The reply to RCPT, or what came before it instead. */
static int run_lmtp_dialogue(struct dialogue *dialogue, const struct config *config,
			     struct str address)
{
	int result = read_lmtp_reply(dialogue);

	if (result == 2)
		result = ask_recipient(dialogue, "LHLO ", str_from(config->hostname), "");
	if (result == 2)
		result = ask_recipient(dialogue, "MAIL FROM:<", STR(""), ">");
	if (result != 2)
		return -EPROTO;
	return ask_recipient(dialogue, "RCPT TO:<", address, ">");
}

static bool is_reply_of_no_mailbox(struct str line)
{
	struct str rest = str_skip(line, line.length < 4 ? line.length : 4);

	if (str_starts_with(rest, STR("5.")))
		return str_starts_with(rest, STR("5.1."));
	return str_starts_with(line, STR("550")) || str_starts_with(line, STR("553"));
}

static int connect_to_lmtp_server(const struct config_endpoint *endpoint)
{
	union os_socket_address where;
	bool is_address = endpoint->port == 0
				  ? os_socket_address_of_path(endpoint->host, &where)
				  : os_socket_address_parse(endpoint->host, endpoint->port, &where);

	return is_address ? os_socket_connect(&where) : -EINVAL;
}

bool lmtp_talk_lacks(const struct config *config, const struct config_service *service,
		     struct str address, struct buffer *said)
{
	struct dialogue dialogue = {.socket = connect_to_lmtp_server(&service->address),
				    .until_us = os_clock_monotonic_us() + PATIENCE_US};
	bool lacks = false;

	if (dialogue.socket < 0)
		return false;
	if (wait_for_dialogue_socket(&dialogue, true) == 0 &&
	    os_socket_error(dialogue.socket) == 0 &&
	    run_lmtp_dialogue(&dialogue, config, address) == 5 &&
	    is_reply_of_no_mailbox(buffer_view(&dialogue.line))) {
		buffer_append_str(said, buffer_view(&dialogue.line));
		lacks = true;
	}
	os_socket_close(dialogue.socket);
	buffer_clear(&dialogue.input);
	buffer_clear(&dialogue.line);
	return lacks;
}
