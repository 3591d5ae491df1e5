// SPDX-License-Identifier: ISC
#include "smtp/client/reply.h"
#include <stdio.h>
#include <string.h>

static bool is_digit_between(char c, char lowest, char highest)
{
	return c >= lowest && c <= highest;
}

/* "250", "250 text" or "250-text"; without its line end. */
static bool parse_reply_line(struct str line, unsigned *code_out, bool *is_last_out)
{
	const char *c = line.data;

	if (line.length < 3 || !is_digit_between(c[0], '2', '5') ||
	    !is_digit_between(c[1], '0', '9') || !is_digit_between(c[2], '0', '9'))
		return false;
	if (line.length > 3 && c[3] != ' ' && c[3] != '-')
		return false;
	*code_out =
		(unsigned)(c[0] - '0') * 100 + (unsigned)(c[1] - '0') * 10 + (unsigned)(c[2] - '0');
	*is_last_out = line.length == 3 || c[3] == ' ';
	return true;
}

static enum smtp_client_reply_progress take_reply_line(struct smtp_client_reply *reply,
						       struct str line)
{
	unsigned code;
	bool is_last;

	if (line.length > 0 && line.data[line.length - 1] == '\r')
		line.length--;
	if (line.length > SMTP_CLIENT_LINE_MAX || !parse_reply_line(line, &code, &is_last))
		return SMTP_CLIENT_REPLY_MALFORMED;
	if (reply->line_count == 0)
		reply->code = code;
	else if (code != reply->code)
		return SMTP_CLIENT_REPLY_MALFORMED;
	if (reply->line_count >= SMTP_CLIENT_LINES_MAX ||
	    reply->text.length + line.length > SMTP_CLIENT_REPLY_MAX)
		return SMTP_CLIENT_REPLY_MALFORMED;
	if (reply->line_count > 0)
		buffer_append_byte(&reply->text, '\n');
	buffer_append_str(&reply->text, str_skip(line, 4));
	reply->line_count++;
	reply->is_complete = is_last;
	return is_last ? SMTP_CLIENT_REPLY_COMPLETE : SMTP_CLIENT_REPLY_MORE;
}

static void begin_new_reply(struct smtp_client_reply *reply)
{
	reply->is_complete = false;
	reply->line_count = 0;
	reply->code = 0;
	buffer_reset(&reply->text);
}

enum smtp_client_reply_progress smtp_client_reply_take(struct smtp_client_reply *reply,
						       struct str *input)
{
	enum smtp_client_reply_progress progress = SMTP_CLIENT_REPLY_MORE;

	if (reply->is_complete && input->length > 0)
		begin_new_reply(reply);
	while (progress == SMTP_CLIENT_REPLY_MORE && input->length > 0) {
		ptrdiff_t end = str_find(*input, '\n');
		struct str line = *input;

		if (end >= 0)
			line.length = (size_t)end;
		if (reply->line.length + line.length > SMTP_CLIENT_LINE_MAX + 1)
			return SMTP_CLIENT_REPLY_MALFORMED;
		*input = str_skip(*input, line.length + 1);
		if (end < 0 || reply->line.length > 0) {
			buffer_append_str(&reply->line, line);
			line = buffer_view(&reply->line);
		}
		if (end < 0)
			return SMTP_CLIENT_REPLY_MORE;
		progress = take_reply_line(reply, line);
		buffer_reset(&reply->line);
	}
	return progress;
}

void smtp_client_reply_clear(struct smtp_client_reply *reply)
{
	buffer_clear(&reply->text);
	buffer_clear(&reply->line);
	*reply = (struct smtp_client_reply){0};
}

/* RFC 3463 and 5248, for servers that send no enhanced status. */
static const char *detail_of_code(unsigned code, bool is_to_rcpt)
{
	static const struct {
		unsigned code;
		const char *detail;
		bool needs_rcpt; /* only for addresses */
	} details[] = {
		{421, ".3.2", false}, {450, ".2.0", true},  {451, ".3.0", false},
		{452, ".3.1", false}, {500, ".5.2", false}, {501, ".5.4", false},
		{502, ".5.1", false}, {503, ".5.1", false}, {504, ".5.4", false},
		{521, ".3.2", false}, {530, ".7.0", false}, {535, ".7.8", false},
		{550, ".1.1", true},  {551, ".1.6", true},  {552, ".3.4", false},
		{553, ".1.3", true},  {555, ".5.4", false}, {556, ".1.10", true},
	};

	for (size_t i = 0; i < COUNT_OF(details); i++)
		if (details[i].code == code && (is_to_rcpt || !details[i].needs_rcpt))
			return details[i].detail;
	return ".0.0";
}

static void find_status_of_reply(const struct smtp_client_reply *reply, bool is_to_rcpt,
				 char status[MAIL_STATUS_SIZE])
{
	char class = (char)('0' + reply->code / 100);
	struct str word = buffer_view(&reply->text);
	size_t length = 0;

	while (length < word.length && word.data[length] != ' ' && word.data[length] != '\n')
		length++;
	word.length = length;
	if (mail_status_is_valid(word) && word.data[0] == class)
		snprintf(status, MAIL_STATUS_SIZE, STR_FORMAT, STR_ARGUMENTS(word));
	else
		snprintf(status, MAIL_STATUS_SIZE, "%c%s", class,
			 detail_of_code(reply->code, is_to_rcpt));
}

/* The enhanced status that each line of a reply repeats is kept only in the first. */
static struct str skip_status(struct str line)
{
	struct str rest = line;
	struct str word;

	(void)str_split(&rest, ' ', &word);
	return mail_status_is_valid(word) ? rest : line;
}

/* Joins the lines with " / "; no more than fits into TEXT with SIZE bytes. */
static void join_lines(struct str lines, char *text, size_t size)
{
	struct str line;
	size_t length = 0;

	while (str_split(&lines, '\n', &line) && length + 1 < size) {
		if (length > 0) {
			line = skip_status(line);
			length += (size_t)snprintf(text + length, size - length, " / ");
		}
		for (size_t i = 0; i < line.length && length + 1 < size; i++)
			text[length++] = line.data[i] != '\0' ? line.data[i] : '?';
		if (length >= size)
			length = size - 1;
	}
	text[length] = '\0';
}

void smtp_client_reply_verdict(const struct smtp_client_reply *reply, const char *peer,
			       const char *command, struct mail_verdict *verdict)
{
	char status[MAIL_STATUS_SIZE];
	char text[MAIL_TEXT_SIZE];
	char end[SMTP_CLIENT_COMMAND_MAX + 32] = "";
	size_t used = strlen(peer) + sizeof " said: 550 " - 1;
	size_t room = sizeof text;

	if (command != NULL && reply->code >= 400)
		snprintf(end, sizeof end, SMTP_CLIENT_IN_REPLY "%.*s)", SMTP_CLIENT_COMMAND_MAX,
			 command);
	used += strlen(end);
	if (used < room / 2)
		room -= used;
	join_lines(buffer_view(&reply->text), text, room);
	find_status_of_reply(reply, command != NULL && strcmp(command, "RCPT") == 0, status);
	mail_verdict_set(verdict, status, "%s said: %u%s%s%s", peer, reply->code,
			 text[0] != '\0' ? " " : "", text, end);
}
