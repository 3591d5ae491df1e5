// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_qmtp_server.c - the whole server engine of QMTP and QMQP.
 *
 * The first byte chooses protocol and answers, the second how the client is borne with, the others
 * come from it; at once with instant and in pieces with delayed answers, the newest commit first,
 * which must come to the same.
 */
#include "base/panic.h"
#include "input.h"
#include "transcript/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bits of the first byte. */
enum {
	QMQP = 1 << 0,
	REFUSE_RECIPIENT = 1 << 1,
	REFUSE_OPEN = 1 << 2,
	REFUSE_COMMIT = 1 << 3,
	TIGHT = 1 << 4, /* limits that short inputs reach */
			/* the others: how many bytes a piece has */
};

/* Of the second. */
enum { NORMALIZES = 1 << 0, REMOVES_NUL = 1 << 1, STRICT = 1 << 2, OURS = 1 << 3 };

static const struct session_answer refusals[] = {
	{SMTP_QUESTION_RECIPIENT, false, {MAIL_FAIL, "5.1.1", "No such user"}},
	{SMTP_QUESTION_OPEN, false, {MAIL_WAIT, "4.3.1", "No space left"}},
	{SMTP_QUESTION_COMMIT, false, {MAIL_WAIT, "4.3.0", "Write error"}},
};

static void play(struct session *session, unsigned choice, unsigned rules, size_t chunk,
		 struct str bytes)
{
	session_init(session);
	if ((choice & QMQP) != 0)
		session->service.protocol = SMTP_PROTOCOL_QMQP;
	if ((choice & TIGHT) != 0)
		session->service.limits = (struct smtp_server_limits){
			.message_size = 100, .recipients = 2, .errors = 3, .hops = 1};
	session->service.rules = (struct smtp_server_rules){
		.bare_newline = (rules & NORMALIZES) != 0 ? SMTP_BARE_NEWLINE_NORMALIZE
							  : SMTP_BARE_NEWLINE_AUTO,
		.strict_addresses = (rules & STRICT) != 0,
		.removes_nul = (rules & REMOVES_NUL) != 0,
	};
	session->peer.is_ours = (rules & OURS) != 0;
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		if ((choice & (unsigned)REFUSE_RECIPIENT << i) == 0)
			continue;
		session->answers = &refusals[i];
		session->answer_count = 1;
		break;
	}
	session->chunk = chunk;
	session->is_delayed = chunk > 0;
	session_start(session);
	(void)session_happen(session, SESSION_START, NULL);
	session_feed(session, bytes.data, bytes.length);
	if (session->fault != NULL)
		panic("%s", session->fault);
}

/* Netstrings of printable text that begin with K, Z or D; those with K may be fewer than messages,
 * whose recipients may be many. */
static void check_answers(const struct session *session)
{
	struct str rest = buffer_view(&session->output);
	size_t good = 0;

	while (rest.length > 0) {
		struct str digits;
		uint64_t length;

		if (!str_split(&rest, ':', &digits) || !str_to_u64(digits, &length) ||
		    length == 0 || length >= rest.length || rest.data[length] != ',' ||
		    str_find(STR("KZD"), rest.data[0]) < 0)
			panic("an answer is malformed");
		for (size_t i = 0; i < length; i++)
			if (rest.data[i] < ' ' || rest.data[i] > '~')
				panic("an answer has a control character");
		good += rest.data[0] == 'K';
		rest = str_skip(rest, (size_t)length + 1);
	}
	if (good < session->message_count)
		panic("%zu times K for %zu messages", good, session->message_count);
}

static void check_messages(const struct session *session)
{
	struct str messages = buffer_view(&session->messages);
	struct str traces = buffer_view(&session->traces);
	size_t headers = 0;
	struct str line;

	check_line_ends(messages);
	check_line_ends(traces);
	if (str_find(messages, '\0') >= 0)
		panic("a message with a NUL");
	if (messages.length > 0 && messages.data[messages.length - 1] != '\n')
		panic("a message without the end of its last line");
	while (str_split(&traces, '\n', &line) && line.length > 0)
		headers += str_starts_with(line, STR("Received: from "));
	if (headers != session->message_count)
		panic("%zu trace headers of %zu messages", headers, session->message_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session whole;
	struct session pieces;
	struct str bytes;

	if (size < 3)
		return 0;
	bytes = str_slice((const char *)data + 2, size - 2);
	play(&whole, data[0], data[1], 0, bytes);
	play(&pieces, data[0], data[1], 1 + (size_t)(data[0] >> 5), bytes);
	check_answers(&whole);
	check_messages(&whole);
	check_equal(buffer_view(&whole.output), buffer_view(&pieces.output), "answers");
	check_equal(buffer_view(&whole.messages), buffer_view(&pieces.messages), "messages");
	check_equal(buffer_view(&whole.traces), buffer_view(&pieces.traces), "trace headers");
	check_equal(buffer_view(&whole.envelopes), buffer_view(&pieces.envelopes), "envelopes");
	session_clear(&whole);
	session_clear(&pieces);
	return 0;
}
