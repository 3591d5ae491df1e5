// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_smtp_server.c - the whole SMTP server engine.
 *
 * The first byte chooses protocol and answers, the others come from the
 * client; at once with instant and in pieces with delayed answers, which must
 * come to the same.
 */
#include "base/panic.h"
#include "transcript/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CHOICE_LMTP = 1 << 0,
	CHOICE_REFUSE_RECIPIENT = 1 << 1,
	CHOICE_REFUSE_OPEN = 1 << 2,
	CHOICE_REFUSE_COMMIT = 1 << 3,
	CHOICE_TIGHT = 1 << 4,
};

static const struct session_answer refusals[] = {
	{SMTP_QUESTION_RECIPIENT, false, {MAIL_FAIL, "5.1.1", "No such user"}},
	{SMTP_QUESTION_OPEN, false, {MAIL_WAIT, "4.3.1", "No space left"}},
	{SMTP_QUESTION_COMMIT, false, {MAIL_WAIT, "4.3.0", "Write error"}},
};

static const struct session_answer *choose_answers(unsigned choice, size_t *count_out)
{
	static const unsigned bits[] = {CHOICE_REFUSE_RECIPIENT, CHOICE_REFUSE_OPEN,
					CHOICE_REFUSE_COMMIT};

	for (size_t i = 0; i < COUNT_OF(bits); i++) {
		if (choice & bits[i]) {
			*count_out = 1;
			return &refusals[i];
		}
	}
	*count_out = 0;
	return NULL;
}

static void play(struct session *session, unsigned choice, const uint8_t *data, size_t size,
		 size_t chunk)
{
	session_init(session);
	if (choice & CHOICE_LMTP)
		session->service.protocol = SMTP_PROTOCOL_LMTP;
	if (choice & CHOICE_TIGHT)
		session->service.limits = (struct smtp_server_limits){.message_size = 100,
								      .recipients = 2,
								      .errors = 3,
								      .commands = 5,
								      .hops = 1,
								      .line = 40};
	session->answers = choose_answers(choice, &session->answer_count);
	session->chunk = chunk;
	session->is_delayed = chunk > 0;
	session_start(session);
	smtp_server_start(session->server);
	session_settle(session);
	session_feed(session, (const char *)data, size);
	if (session->fault != NULL)
		panic("%s", session->fault);
}

/* Each is one or more whole lines, and nothing of the peer's gets among them. */
static void check_replies(struct str output)
{
	struct str line;

	while (str_split(&output, '\n', &line) && line.length > 0) {
		if (line.length < 6 || line.length > 511 || line.data[line.length - 1] != '\r' ||
		    line.data[0] < '2' || line.data[0] > '5')
			panic("a reply is malformed: " STR_FORMAT, STR_ARGUMENTS(line));
		for (size_t i = 0; i + 1 < line.length; i++)
			if (line.data[i] < ' ' || line.data[i] > '~')
				panic("a reply has a control character");
	}
}

static void check_equal(const struct buffer *a, const struct buffer *b, const char *what)
{
	if (!str_equal(buffer_view(a), buffer_view(b)))
		panic("%s differ", what);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session whole;
	struct session pieces;

	if (size < 2)
		return 0;
	play(&whole, data[0], data + 1, size - 1, 0);
	play(&pieces, data[0], data + 1, size - 1, 1 + (size_t)(data[0] >> 5));
	check_replies(buffer_view(&whole.output));
	check_equal(&whole.output, &pieces.output, "replies");
	check_equal(&whole.messages, &pieces.messages, "messages");
	check_equal(&whole.traces, &pieces.traces, "trace headers");
	check_equal(&whole.envelopes, &pieces.envelopes, "envelopes");
	session_clear(&whole);
	session_clear(&pieces);
	return 0;
}
