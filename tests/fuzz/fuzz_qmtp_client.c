// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_qmtp_client.c - the client engine of QMTP.
 *
 * The first byte says how many recipients there are, the second how much of the package is sent
 * before the server speaks; the others are what it says, at once and byte by byte, which must come
 * to the same. Then the connection ends.
 */
#include "base/panic.h"
#include "input.h"
#include "qmtp/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECIPIENTS_MAX = 8, ALL = 255 };

static const char BODY[] = "Subject: x\r\n\r\nbody\r\n";

struct play {
	struct qmtp_client *client;
	struct smtp_client_recipient recipients[RECIPIENTS_MAX];
	size_t count;
};

static void begin(struct play *play, unsigned count, unsigned sent)
{
	const struct smtp_client_settings settings = {
		.hostname = "us", .peer = "peer", .timeout_us = 1, .protocol = SMTP_CLIENT_QMTP};
	struct smtp_client_message message = {.sender = STR("lisa@example.com"),
					      .size = sizeof BODY - 1,
					      .recipients = play->recipients,
					      .recipient_count = 1 + count % RECIPIENTS_MAX};
	size_t left;

	*play = (struct play){.count = message.recipient_count};
	for (size_t i = 0; i < play->count; i++)
		play->recipients[i].address = STR("anna@example.net");
	play->client = qmtp_client_new(&settings);
	qmtp_client_begin(play->client, &message);
	qmtp_client_data(play->client, str_from(BODY), true);
	left = qmtp_client_output(play->client).length;
	qmtp_client_sent(play->client, sent == ALL || sent > left ? left : sent);
}

/* A verdict is there exactly when the session is over or the recipient was answered. */
static void end(struct play *play)
{
	bool was_ready = qmtp_client_status(play->client) == SMTP_CLIENT_READY;
	bool was_deciding = qmtp_client_is_deciding(play->client);
	bool has_answers = false;

	for (size_t i = 0; i < play->count; i++)
		has_answers |= play->recipients[i].verdict != NULL;
	if (!was_ready)
		qmtp_client_lost(play->client, "reset");
	for (size_t i = 0; i < play->count; i++) {
		const struct mail_verdict *verdict = play->recipients[i].verdict;

		if (verdict == NULL || !mail_status_is_valid(str_from(verdict->status)))
			panic("a recipient without a verdict");
		if (verdict->class != mail_verdict_class_of(verdict->status))
			panic("a status of another class");
	}
	if (was_deciding && qmtp_client_is_unserved(play->client))
		panic("a message that may have been accepted is called unserved");
	if (has_answers && qmtp_client_is_unserved(play->client) && was_deciding)
		panic("answers are forgotten");
}

static void check_same(const struct play *a, const struct play *b)
{
	for (size_t i = 0; i < a->count; i++) {
		check_equal(str_from(a->recipients[i].verdict->status),
			    str_from(b->recipients[i].verdict->status), "statuses");
		check_equal(str_from(a->recipients[i].verdict->text),
			    str_from(b->recipients[i].verdict->text), "texts");
		if (a->recipients[i].again != b->recipients[i].again)
			panic("what may be done again differs");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct play whole;
	struct play bytes;
	struct str said;

	if (size < 2)
		return 0;
	said = str_slice((const char *)data + 2, size - 2);
	begin(&whole, data[0], data[1]);
	begin(&bytes, data[0], data[1]);
	qmtp_client_input(whole.client, said);
	for (size_t i = 0; i < said.length; i++)
		qmtp_client_input(bytes.client, str_slice(said.data + i, 1));
	end(&whole);
	end(&bytes);
	check_same(&whole, &bytes);
	qmtp_client_free(whole.client);
	qmtp_client_free(bytes.client);
	return 0;
}
