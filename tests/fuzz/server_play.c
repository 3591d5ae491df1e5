// SPDX-License-Identifier: ISC
#include "server_play.h"
#include "base/panic.h"
#include "input.h"
#include <netinet/in.h>
#include <string.h>

static const struct session_answer refusals[] = {
	{SMTP_QUESTION_RECIPIENT, false, {MAIL_FAIL, "5.1.1", "No such user"}},
	{SMTP_QUESTION_OPEN, false, {MAIL_WAIT, "4.3.1", "No space left"}},
	{SMTP_QUESTION_COMMIT, false, {MAIL_WAIT, "4.3.0", "Write error"}},
};

static const struct session_answer exchanges[] = {
	{.type = SMTP_QUESTION_AUTH, .outcome = SMTP_AUTH_CHALLENGE, .message = {"r=1", 3}},
	{.type = SMTP_QUESTION_AUTH, .outcome = SMTP_AUTH_FAILED},
	{.type = SMTP_QUESTION_AUTH, .outcome = SMTP_AUTH_CHALLENGE},
	{.type = SMTP_QUESTION_AUTH,
	 .outcome = SMTP_AUTH_ACCEPTED,
	 .user = "lisa",
	 .message = {"v=2", 3}},
};

static const struct session_answer *choose_answers(unsigned choice, size_t *count_out)
{
	static const unsigned bits[] = {SERVER_PLAY_REFUSE_RECIPIENT, SERVER_PLAY_REFUSE_OPEN,
					SERVER_PLAY_REFUSE_COMMIT};

	for (size_t i = 0; i < COUNT_OF(bits); i++) {
		if (choice & bits[i]) {
			*count_out = 1;
			return &refusals[i];
		}
	}
	*count_out = choice >> SERVER_PLAY_RULES & SERVER_PLAY_AUTH ? COUNT_OF(exchanges) : 0;
	return exchanges;
}

static bool is_our_address(void *context, const struct in6_addr *address)
{
	(void)context;
	return IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 192 &&
	       address->s6_addr[13] == 0 && address->s6_addr[14] == 2;
}

static void choose_rules(struct session *session, unsigned rules)
{
	static const enum smtp_bare_newline bare_newlines[] = {
		SMTP_BARE_NEWLINE_AUTO, SMTP_BARE_NEWLINE_REJECT, SMTP_BARE_NEWLINE_NORMALIZE,
		SMTP_BARE_NEWLINE_AUTO};

	session->service.rules = (struct smtp_server_rules){
		.bare_newline = bare_newlines[rules & SERVER_PLAY_BARE_NEWLINES],
		.ends_early = (rules & SERVER_PLAY_END_EARLY) != 0,
		.strict_addresses = (rules & SERVER_PLAY_STRICT) != 0,
		.removes_nul = (rules & SERVER_PLAY_REMOVE_NUL) != 0,
	};
	if (rules & SERVER_PLAY_AUTH) {
		session->service.auth = SMTP_AUTH_REQUIRED;
		session->mechanisms_clear = "SCRAM-SHA-256 PLAIN";
	}
	if ((rules & SERVER_PLAY_BARE_NEWLINES) == SERVER_PLAY_BARE_NEWLINES &&
	    session->service.protocol == SMTP_PROTOCOL_SMTP) {
		session->service.protocol = SMTP_PROTOCOL_SUBMISSION;
		session->service.release_max_us = DAY_US;
		session->service.deliver_by_min = 30;
	}
	session->service.offers_binary = (rules & SERVER_PLAY_STRICT) != 0;
	session->peer.is_ours = (rules & SERVER_PLAY_OURS) != 0;
	if ((rules & SERVER_PLAY_OWN_ADDRESSES) == 0)
		return;
	session->service.is_our_address = is_our_address;
	session->service.local_domain = "own.example";
}

void server_play_begin(struct session *session, unsigned choice, size_t chunk)
{
	session_init(session);
	if (choice & SERVER_PLAY_LMTP)
		session->service.protocol = SMTP_PROTOCOL_LMTP;
	if (choice & SERVER_PLAY_TIGHT)
		session->service.limits = (struct smtp_server_limits){.message_size = 100,
								      .recipients = 2,
								      .errors = 3,
								      .commands = 5,
								      .hops = 1,
								      .line = 40};
	choose_rules(session, choice >> SERVER_PLAY_RULES);
	session->answers = choose_answers(choice, &session->answer_count);
	session->chunk = chunk;
	session->is_delayed = chunk > 0;
	session_start(session);
	smtp_server_start(session->server);
	session_settle(session);
}

void server_play_check(const struct session *session)
{
	if (session->fault != NULL)
		panic("%s", session->fault);
}

void server_play_check_equal(const struct session *a, const struct session *b)
{
	check_equal(buffer_view(&a->output), buffer_view(&b->output), "replies");
	check_equal(buffer_view(&a->messages), buffer_view(&b->messages), "messages");
	check_equal(buffer_view(&a->traces), buffer_view(&b->traces), "trace headers");
	check_equal(buffer_view(&a->envelopes), buffer_view(&b->envelopes), "envelopes");
	check_equal(buffer_view(&a->exchanges), buffer_view(&b->exchanges), "exchanges");
}

static void check_reply(struct str line)
{
	if (line.length < 5 || line.length > 511 || line.data[line.length - 1] != '\r' ||
	    line.data[0] < '2' || line.data[0] > '5')
		panic("a reply is malformed: " STR_FORMAT, STR_ARGUMENTS(line));
	for (size_t i = 0; i + 1 < line.length; i++)
		if (line.data[i] < ' ' || line.data[i] > '~')
			panic("a reply has a control character");
}

/* How many replies said that a message was taken. */
static size_t check_replies(struct str output)
{
	size_t taken = 0;
	struct str line;

	while (str_split(&output, '\n', &line) && line.length > 0) {
		check_reply(line);
		taken += str_equal(line, STR("250 2.0.0 queued\r"));
	}
	return taken;
}

/* Nobody sends mail before the reply that lets him. */
static void check_auth(const struct session *session)
{
	struct str output = buffer_view(&session->output);

	if (session->service.auth == SMTP_AUTH_REQUIRED && !session->peer.is_ours &&
	    session->message_count > 0 && memmem(output.data, output.length, "\r\n235 ", 6) == NULL)
		panic("a message from nobody");
}

/* Our own headers: the first lines of what is written, Received and its continuation. */
static void check_traces(struct str traces, size_t messages)
{
	size_t headers = 0;
	struct str line;

	check_line_ends(traces);
	while (str_split(&traces, '\n', &line) && line.length > 0) {
		if (str_starts_with(line, STR("Received: from ")))
			headers++;
		else if (line.data[0] != '\t')
			panic("a line of its own among the trace headers");
	}
	if (headers != messages)
		panic("%zu trace headers of %zu messages", headers, messages);
}

static size_t count_recipients(struct str envelopes)
{
	size_t count = 0;
	struct str line;

	while (str_split(&envelopes, '\n', &line) && line.length > 0) {
		const char *from = line.data;
		const char *end = line.data + line.length;

		while ((from = memmem(from, (size_t)(end - from), " <", 2)) != NULL) {
			count++;
			from += 2;
		}
	}
	return count;
}

/* Whose messages may have any bytes. */
static bool has_binary(const struct session *session)
{
	static const char word[] = "> binarymime ";

	return session->envelopes.length > 0 &&
	       memmem(buffer_data(&session->envelopes), session->envelopes.length, word,
		      sizeof word - 1) != NULL;
}

void server_play_check_result(const struct session *session)
{
	size_t taken = check_replies(buffer_view(&session->output));
	bool is_lmtp = session->service.protocol == SMTP_PROTOCOL_LMTP;
	struct str messages = buffer_view(&session->messages);

	if (!is_lmtp && taken != session->message_count)
		panic("%zu times 250 for %zu messages", taken, session->message_count);
	/* a quoted local part may hold " <" */
	/* who is named twice has two replies */
	if (is_lmtp && str_find(buffer_view(&session->envelopes), '"') < 0 &&
	    taken < count_recipients(buffer_view(&session->envelopes)))
		panic("%zu times 250 for %zu messages' recipients", taken, session->message_count);
	if (has_binary(session)) {
		check_auth(session);
		return;
	}
	check_line_ends(messages);
	if (str_find(messages, '\0') >= 0)
		panic("a message with a NUL");
	if (messages.length > 0 && messages.data[messages.length - 1] != '\n')
		panic("a message without the end of its last line");
	check_auth(session);
	check_traces(buffer_view(&session->traces), session->message_count);
}

void server_play_twice(unsigned choice, struct str data)
{
	bool ends_early = choice >> SERVER_PLAY_RULES & SERVER_PLAY_END_EARLY;
	struct session whole;
	struct session pieces;

	server_play_begin(&whole, choice, 0);
	session_feed(&whole, data.data, data.length);
	server_play_check(&whole);
	server_play_begin(&pieces, choice, 1 + (size_t)((choice & 0xff) >> 5));
	session_feed(&pieces, data.data, data.length);
	server_play_check(&pieces);
	server_play_check_result(&whole);
	server_play_check_result(&pieces);
	if (!ends_early)
		server_play_check_equal(&whole, &pieces);
	session_clear(&whole);
	session_clear(&pieces);
}
