// SPDX-License-Identifier: ISC
/* Each transaction of QMTP's client after each other one in the same session: it must go as if it
 * were the first. */
#include "qmtp/client.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { RECIPIENTS_MAX = 3 };

/* '<' in ANSWERS: all of the output is sent, '.': a byte of it; 'X', 'T' and 'A' at its end: the
 * connection is lost, the server takes too long, the attempt is given up. In BODY '^' ends a part;
 * '!' at its end: no more comes. */
static const struct life {
	const char *name;
	size_t recipients;
	const char *sender, *body, *answers;
	bool requires_tls, is_binary, is_8bit, is_utf8;
	enum mail_deadline_mode deadline;
} lives[] = {
	{"taken", 1, "lisa@a.b", "a\r\n", "<3:Kok,"},
	{"taken by all", 3, "lisa@a.b", "a\r\n^bc\r\n", "<3:Kok,3:Kok,3:Kok,"},
	{"in pieces", 2, "", "a^b^c\r\n", "..<5:Kokay^,3:K^ok,"},
	{"refused", 1, "lisa@a.b", "", "<22:Dno such user (#5.1.1),"},
	{"refused by the second", 3, "lisa@a.b", "x\r\n",
	 "<3:Kok,22:Dno such user (#5.1.1),15:Zlater (#4.2.1),"},
	{"later", 1, "a@b", "a\r\n", "<2:Zx,"},
	{"cannot require TLS", 2, "a@b", "a\r\n", "", .requires_tls = true},
	{"is binary", 2, "a@b", "a\r\n", "", .is_binary = true},
	{"is in a hurry", 1, "a@b", "a\r\n", "", .deadline = MAIL_DEADLINE_RETURN},
	{"tells of a hurry", 1, "a@b", "a\r\n", "<3:Kok,", .deadline = MAIL_DEADLINE_NOTIFY},
	{"has bytes", 1, "a@b", "\xff\r\n", "<3:Kok,", .is_8bit = true, .is_utf8 = true},
	/* these end the session */
	{"lost at once", 1, "a@b", "a\r\n", "X"},
	{"lost while it is sent", 2, "a@b", "a\r\n", "...X"},
	{"lost when it is decided", 2, "a@b", "a\r\n", "<X"},
	{"lost in an answer", 2, "a@b", "a\r\n", "<3:Kok,3:KX"},
	{"lost while the body comes", 2, "a@b", "a\r\n^b!", "X"},
	{"too late", 2, "a@b", "a\r\n", "<3:Kok,T"},
	{"given up", 2, "a@b", "a\r\n", ".A"},
	{"an answer too early", 2, "a@b", "a\r\n", "3:Kok,"},
	{"an answer too many", 1, "a@b", "a\r\n", "<3:Kok,3:Kok,"},
	{"no answer", 1, "a@b", "a\r\n", "<x"},
};

static struct smtp_client_recipient recipients[RECIPIENTS_MAX];
static struct buffer watched;

static void watch_line(void *context, enum smtp_said by, struct str line)
{
	(void)context;
	buffer_append_format(&watched, "%d: " STR_FORMAT "\n", (int)by, STR_ARGUMENTS(line));
}

static struct qmtp_client *new_client(bool is_secured)
{
	static const bool is_watched = true;
	const struct smtp_client_settings settings = {
		.hostname = "us",
		.peer = "peer",
		.timeout_us = 1000,
		.tls = is_secured ? SMTP_CLIENT_TLS_MUST : SMTP_CLIENT_TLS_NEVER,
		.protocol = SMTP_CLIENT_QMTP,
		.watch = {&is_watched, watch_line},
	};
	struct qmtp_client *client = qmtp_client_new(&settings);

	if (is_secured)
		qmtp_client_secured(client);
	return client;
}

static void note_state(const struct qmtp_client *client, struct buffer *out)
{
	buffer_append_format(
		out, "status %d, %lld us, deciding %d, output " STR_FORMAT "\n",
		(int)qmtp_client_status(client), (long long)qmtp_client_timeout_us(client),
		qmtp_client_is_deciding(client), STR_ARGUMENTS(qmtp_client_output(client)));
}

static void begin_life(struct qmtp_client *client, const struct life *life)
{
	static const char *const addresses[RECIPIENTS_MAX] = {"x@y.z", "bob@away.t", "r@s.t"};
	struct smtp_client_message message = {.sender = str_from(life->sender),
					      .recipients = recipients,
					      .recipient_count = life->recipients,
					      .requires_tls = life->requires_tls,
					      .is_binary = life->is_binary,
					      .is_8bit = life->is_8bit,
					      .is_utf8 = life->is_utf8,
					      .deadline = {.mode = life->deadline},
					      .deadline_left = 60};

	for (const char *c = life->body; *c != '\0'; c++)
		message.size += *c != '^' && *c != '!';
	for (size_t i = 0; i < life->recipients && i < RECIPIENTS_MAX; i++)
		recipients[i] = (struct smtp_client_recipient){.address = str_from(addresses[i])};
	qmtp_client_begin(client, &message);
}

static void give_body(struct qmtp_client *client, const struct life *life, struct buffer *out)
{
	struct str rest = str_from(life->body);
	struct str part;

	while (qmtp_client_status(client) == SMTP_CLIENT_WANTS_DATA &&
	       str_split(&rest, '^', &part)) {
		bool is_cut = part.length > 0 && part.data[part.length - 1] == '!';

		qmtp_client_data(client, str_slice(part.data, part.length - is_cut),
				 rest.data == NULL && !is_cut);
		note_state(client, out);
		if (is_cut)
			return;
	}
}

static void play_answers(struct qmtp_client *client, const struct life *life, struct buffer *out)
{
	for (const char *c = life->answers; *c != '\0'; c++) {
		if (*c == '<')
			qmtp_client_sent(client, qmtp_client_output(client).length);
		else if (*c == '.' && qmtp_client_output(client).length > 0)
			qmtp_client_sent(client, 1);
		else if (*c == 'X')
			qmtp_client_lost(client, "it is gone");
		else if (*c == 'T')
			qmtp_client_timed_out(client);
		else if (*c == 'A')
			qmtp_client_abandon(client, "4.3.2", "it is given up");
		else if (*c != '^')
			qmtp_client_input(client, str_slice(c, 1));
		note_state(client, out);
	}
}

/* What came of it, into OUT; but whether the session is stale, or TLS is proven, hangs on the
 * first. */
static void play_life(struct qmtp_client *client, const struct life *life, struct buffer *out)
{
	buffer_reset(&watched);
	begin_life(client, life);
	note_state(client, out);
	give_body(client, life, out);
	play_answers(client, life, out);
	for (size_t i = 0; i < life->recipients; i++) {
		const struct smtp_client_recipient *to = &recipients[i];

		buffer_append_format(out,
				     "%zu: %s %s, again %d, passed on %d, timed %d, accepted %d\n",
				     i, to->verdict != NULL ? to->verdict->status : "-",
				     to->verdict != NULL ? to->verdict->text : "-", (int)to->again,
				     to->is_passed_on, to->is_timed, to->is_accepted);
	}
	buffer_append_format(out, "unserved %d\n", qmtp_client_is_unserved(client));
	buffer_append_str(out, buffer_view(&watched));
}

static bool ends_session(const struct life *life)
{
	struct qmtp_client *client = new_client(false);
	struct buffer out CLEANUP(buffer_clear) = {0};
	bool ends;

	play_life(client, life, &out);
	ends = qmtp_client_status(client) != SMTP_CLIENT_READY;
	qmtp_client_free(client);
	return ends;
}

static void each_after_each_other_one(void **state)
{
	unsigned played = 0;

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(lives) * COUNT_OF(lives); i++) {
		bool is_secured = i % 2 == 1;
		const struct life *first = &lives[i / 2 / COUNT_OF(lives)];
		const struct life *second = &lives[i / 2 % COUNT_OF(lives)];
		struct buffer alone CLEANUP(buffer_clear) = {0};
		struct buffer after CLEANUP(buffer_clear) = {0};
		struct buffer before CLEANUP(buffer_clear) = {0};
		struct qmtp_client *client;

		if (ends_session(first))
			continue;
		client = new_client(is_secured);
		play_life(client, second, &alone);
		qmtp_client_free(client);
		client = new_client(is_secured);
		play_life(client, first, &before);
		play_life(client, second, &after);
		qmtp_client_free(client);
		if (!str_equal(buffer_view(&alone), buffer_view(&after)))
			fail_msg("%s; then %s\n--- alone\n" STR_FORMAT "--- then\n" STR_FORMAT,
				 first->name, second->name, STR_ARGUMENTS(buffer_view(&alone)),
				 STR_ARGUMENTS(buffer_view(&after)));
		played++;
	}
	assert_true(played > 2 * 9 * COUNT_OF(lives));
	buffer_clear(&watched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_after_each_other_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
