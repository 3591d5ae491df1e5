// SPDX-License-Identifier: ISC
/* A report on its way: any targets with any answers, and its form as a message. The DNS, HTTPS and
 * the queue are played. */
#include "base/panic.h"
#include "base/text/base64.h"
#include "base/timestamp.h"
#include "chance.h"
#include "policy/reports/mail.h"
#include "policy/reports/post.h"
#include "policy/tlsrpt/record.h"
#include "test.h"
#include "unit/dns/fake_dns.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { TURNS = 3000, TEXT = 400 };

static const int64_t BEGIN_US = 981072000 * (int64_t)1000000; /* 2001-02-02 */

static struct {
	struct https_ask ask;
	void (*asked)(void *context, const struct https_answer *answer);
	void *ask_context;
	bool is_asking;
	char ask_host[TEXT], ask_path[TEXT], content[4000];
	size_t content_length;

	struct queue_client_message *message;
	const struct mail_envelope *envelope;
	char data[8000];
	unsigned abandoned;

	struct reports_post *post;
	unsigned ends;
	enum reports_end end;
	struct tlsrpt_day *day;
} world;

/* --- in the place of HTTPS --- */

struct https_request {
	int unused;
};

static struct https_request the_request;

struct https_request *https_ask(struct https *https, const struct https_ask *ask,
				void (*done)(void *context, const struct https_answer *answer),
				void *context)
{
	assert_null(https);
	assert_false(world.is_asking);
	world.is_asking = true;
	world.ask = *ask;
	world.asked = done;
	world.ask_context = context;
	snprintf(world.ask_host, TEXT, "%s", ask->host);
	snprintf(world.ask_path, TEXT, "%s", ask->path);
	assert_true(ask->content.length < sizeof world.content);
	memcpy(world.content, ask->content.data, ask->content.length);
	world.content_length = ask->content.length;
	return &the_request;
}

void https_cancel(struct https_request *request)
{
	assert_true(request == NULL || world.is_asking);
	if (request != NULL)
		world.is_asking = false;
}

static void answer_request(enum https_status status, unsigned code)
{
	const struct https_answer answer = {
		.status = status, .code = code, .reason = "as it happens", .type = ""};

	world.is_asking = false;
	world.asked(world.ask_context, &answer);
}

/* --- in the place of the queue --- */

void queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	assert_null(client);
	assert_null(world.message);
	assert_int_equal(message->state, QUEUE_CLIENT_IDLE);
	message->state = QUEUE_CLIENT_OPENING;
	world.message = message;
}

void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data)
{
	assert_int_equal(message->state, QUEUE_CLIENT_OPEN);
	assert_int_equal(envelope->id.number, 77);
	assert_int_equal(envelope->size, data.length);
	assert_true(data.length < sizeof world.data);
	memcpy(world.data, data.data, data.length);
	world.data[data.length] = '\0';
	world.envelope = envelope;
	message->state = QUEUE_CLIENT_COMMITTING;
}

void queue_client_abandon(struct queue_client_message *message)
{
	assert_ptr_equal(message, world.message);
	world.message = NULL;
	world.abandoned++;
}

/* The next step of the message that is queued. */
static void answer_queue(int result)
{
	struct queue_client_message *message = world.message;

	if (message->state == QUEUE_CLIENT_OPENING && result == 0) {
		message->number = 77;
		message->state = QUEUE_CLIENT_OPEN;
	} else {
		message->state = QUEUE_CLIENT_IDLE;
		world.message = NULL;
	}
	message->done(message->context, result);
}

/* --- a post --- */

static void on_end(void *context, enum reports_end end)
{
	assert_ptr_equal(context, &world);
	world.ends++;
	world.end = end;
	world.post = NULL;
}

static void begin_post(void)
{
	/* those of a reload */
	char *hostname = memory_copy_string("mx.test"), *from = memory_copy_string("tls@mx.test");
	const struct reports_ways ways = {.hostname = hostname, .from = from};

	world.ends = 0;
	world.post = reports_post_new(&ways, "a.test", BEGIN_US, world.day, on_end, &world);
	memset(hostname, 'x', strlen(hostname));
	memset(from, 'x', strlen(from));
	free(hostname);
	free(from);
	assert_int_equal(world.ends, 0);
}

static void play_record(const char *text)
{
	static struct dns_record records[2];
	static char data[TEXT];
	size_t length = strlen(text);

	assert_true(length < 256);
	data[0] = (char)length;
	memcpy(data + 1, text, length);
	records[0] = (struct dns_record){
		"_smtp._tls.a.test", DNS_TYPE_TXT, DNS_FOUND, true, NULL, data, length + 1, 0};
	fake_dns_play(records);
}

/* What a target is, and what becomes of it. */
enum way {
	MAIL_FINE,
	MAIL_NO_NUMBER,
	MAIL_NOT_QUEUED,
	POST_200,
	POST_204,
	POST_300,
	POST_400,
	POST_408,
	POST_429,
	POST_500,
	POST_FAILS,
	POST_UNTRUSTED,
	WAYS
};

static const struct {
	enum https_status status;
	unsigned code;
	bool is_sent, is_for_later;
} ways_of[WAYS] = {
	[MAIL_FINE] = {0, 0, true, false},
	[MAIL_NO_NUMBER] = {0, 0, false, true},
	[MAIL_NOT_QUEUED] = {0, 0, false, true},
	[POST_200] = {HTTPS_OK, 200, true, false},
	[POST_204] = {HTTPS_OK, 204, true, false},
	[POST_300] = {HTTPS_OK, 300, false, true},
	[POST_400] = {HTTPS_OK, 400, false, false},
	[POST_408] = {HTTPS_OK, 408, false, true},
	[POST_429] = {HTTPS_OK, 429, false, true},
	[POST_500] = {HTTPS_OK, 500, false, true},
	[POST_FAILS] = {HTTPS_FAILED, 0, false, true},
	[POST_UNTRUSTED] = {HTTPS_UNTRUSTED, 0, false, true},
};

static void answer_target(enum way way, unsigned number)
{
	char expected[TEXT];

	if (way >= POST_200) {
		assert_true(world.is_asking && world.message == NULL);
		snprintf(expected, TEXT, "h%u.test", number);
		assert_string_equal(world.ask_host, expected);
		assert_string_equal(world.ask_path, "/r");
		assert_int_equal(world.ask.port, 443);
		assert_int_equal(world.ask.seconds, 60);
		assert_int_equal(world.ask.size_max, 65536);
		assert_string_equal(world.ask.content_type, "application/tlsrpt+gzip");
		answer_request(ways_of[way].status, ways_of[way].code);
		return;
	}
	assert_true(!world.is_asking && world.message != NULL);
	answer_queue(way == MAIL_NO_NUMBER ? -ENOTCONN : 0);
	if (way == MAIL_NO_NUMBER)
		return;
	snprintf(expected, TEXT, "r%u@a.test", number);
	assert_int_equal(world.envelope->recipient_count, 1);
	assert_true(str_equal(world.envelope->recipients[0].address, str_from(expected)));
	assert_true(str_equal(world.envelope->sender, STR("tls@mx.test")));
	assert_int_equal(world.envelope->stage, MAIL_STAGE_SUBMIT);
	/* of each target a message of its own */
	assert_ptr_equal(strstr(world.data, "Date: "), world.data);
	assert_null(strstr(world.data + 1, "\nDate: "));
	assert_non_null(strstr(world.data, expected));
	answer_queue(way == MAIL_NOT_QUEUED ? -ENOSPC : 0);
}

static void any_targets(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		enum way ways[TLSRPT_TARGETS_MAX + 1];
		size_t count = 1 + chance(TLSRPT_TARGETS_MAX + 1), answered;
		size_t given_up = chance(4) == 0 ? chance(count + 1) : count + 1;
		bool was_sent = false, is_for_later = false;
		char text[TEXT] = "v=TLSRPTv1; rua=";

		for (size_t i = 0; i < count; i++) {
			ways[i] = (enum way)chance(WAYS);
			snprintf(text + strlen(text), TEXT - strlen(text), "%s%s%zu%s",
				 i > 0 ? "," : "", ways[i] >= POST_200 ? "https://h" : "mailto:r",
				 i, ways[i] >= POST_200 ? ".test/r" : "@a.test");
		}
		play_record(text);
		begin_post();
		if (count > TLSRPT_TARGETS_MAX)
			count = TLSRPT_TARGETS_MAX;
		if (given_up > 0)
			fake_dns_answer_all();
		for (answered = 0; answered < count && answered < given_up; answered++) {
			assert_int_equal(world.ends, 0);
			was_sent |= ways_of[ways[answered]].is_sent;
			is_for_later |= ways_of[ways[answered]].is_for_later;
			answer_target(ways[answered], (unsigned)answered);
		}
		if (answered == count) {
			assert_int_equal(world.ends, 1);
			assert_int_equal(world.end,
					 is_for_later && !was_sent ? REPORTS_LATER : REPORTS_SENT);
		} else {
			reports_post_free(world.post);
			assert_int_equal(world.ends, 0);
		}
		assert_null(world.message);
		assert_false(world.is_asking);
		fake_dns_end();
	}
	reports_post_free(NULL);
}

static void one_that_is_given_up_at_each_step(void **state)
{
	(void)state;
	play_record("v=TLSRPTv1; rua=mailto:r@a.test");
	for (unsigned steps = 0; steps < 3; steps++) {
		begin_post();
		if (steps > 0)
			fake_dns_answer_all();
		if (steps > 1)
			answer_queue(0);
		world.abandoned = 0;
		reports_post_free(world.post);
		assert_int_equal(world.abandoned, steps > 0);
		assert_null(world.message);
	}
	fake_dns_end();
}

static void what_the_dns_says(void **state)
{
	static const struct {
		enum dns_status status;
		const char *text;
		size_t count;
		int end;            /* -1: it goes on */
		const char *before; /* another record */
	} rows[] = {
		{DNS_FAILED, "", 0, REPORTS_LATER, NULL},
		{DNS_NO_DATA, "", 0, REPORTS_UNWANTED, NULL},
		{DNS_FOUND, "v=spf1 -all", 1, REPORTS_UNWANTED, NULL},
		{DNS_FOUND, "v=TLSRPTv1; rua=ftp://a.test", 1, REPORTS_UNWANTED, NULL},
		{DNS_FOUND, "v=TLSRPTv1; rua=mailto:r@a.test", 2, REPORTS_UNWANTED, NULL},
		{DNS_FOUND, "v=TLSRPTv1; rua=mailto:r@a.test", 1, -1, NULL},
		{DNS_FOUND, "v=TLSRPTv1; rua=mailto:r@a.test", 2, -1, "v=spf1 -all"},
		{DNS_FOUND, "v=spf1 -all", 2, -1, "v=TLSRPTv1; rua=mailto:r@a.test"},
		{DNS_FOUND, "v=spf1 -all", 2, REPORTS_UNWANTED, "v=TLSRPTv1; rua="},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t length = strlen(rows[i].text);
		char text[TEXT], before[TEXT], *data[2] = {text, text};
		int lengths[2] = {(int)length + 1, (int)length + 1};
		const struct dns_answer answer = {.status = rows[i].status,
						  .count = rows[i].count,
						  .data = data,
						  .lengths = lengths,
						  .reason = "x"};

		text[0] = (char)length;
		memcpy(text + 1, rows[i].text, length);
		if (rows[i].before != NULL) {
			lengths[0] = snprintf(before, sizeof before, "%c%s",
					      (int)strlen(rows[i].before), rows[i].before);
			data[0] = before;
		}
		fake_dns_play((struct dns_record[]){{.name = NULL}});
		begin_post();
		fake_dns_answer(&answer);
		fake_dns_check_asked("_smtp._tls.a.test/16 ");
		assert_int_equal(world.ends, rows[i].end >= 0);
		if (rows[i].end >= 0)
			assert_int_equal(world.end, rows[i].end);
		else
			reports_post_free(world.post);
		fake_dns_end();
	}
}

/* --- its form --- */

static void uncompress_text(struct str from, char *text, size_t size)
{
	z_stream stream = {.next_in = (z_const Bytef *)from.data,
			   .avail_in = (uInt)from.length,
			   .next_out = (Bytef *)text,
			   .avail_out = (uInt)size - 1};

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	text[stream.total_out] = '\0';
	inflateEnd(&stream);
}

static void what_is_posted_is_the_report(void **state)
{
	char text[8000];

	(void)state;
	play_record("v=TLSRPTv1; rua=https://a.test/r");
	begin_post();
	fake_dns_answer_all();
	uncompress_text(str_slice(world.content, world.content_length), text, sizeof text);
	assert_non_null(strstr(text, "\"organization-name\""));
	assert_non_null(strstr(text, "mx.test"));
	assert_non_null(strstr(text, "tls@mx.test"));
	assert_non_null(strstr(text, "\"981072000."));
	assert_non_null(strstr(text, "2001-02-02T00:00:00Z"));
	assert_non_null(strstr(text, "a.test"));
	answer_request(HTTPS_OK, 200);
	fake_dns_end();
}

/* Lines of 57 bytes: none to three of them, at the bound and beside it. */
static void a_message_holds_what_was_compressed(void **state)
{
	static const char head[] =
		"Date: Sat, 03 Feb 2001 01:02:03 +0000\r\nFrom: <tls@mx.test>\r\nTo: <r@a.test>\r\n"
		"Subject: Report Domain: a.test\r\n Submitter: mx.test\r\n Report-ID: <7.id>\r\n"
		"Message-ID: <7.id@mx.test>\r\n"
		"TLS-Report-Domain: a.test\r\nTLS-Report-Submitter: mx.test\r\n"
		"TLS-Required: No\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
		"Content-Type: multipart/report; report-type=\"tlsrpt\";\r\n "
		"boundary=\"7.id\"\r\n\r\n"
		"--7.id\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n"
		"This is an aggregate report, by RFC 8460, of TLS in mail that mx.test\r\n"
		"has sent to a.test\r\non 2001-02-02 (UTC).\r\n\r\n"
		"--7.id\r\nContent-Type: application/tlsrpt+gzip\r\nContent-Transfer-Encoding: "
		"base64\r\n"
		"Content-Disposition: attachment;\r\n "
		"filename=\"mx.test!a.test!981072000!981158399.json.gz\"\r\n\r\n";

	(void)state;
	for (size_t length = 0; length <= 172; length++) {
		char bytes[172];
		struct buffer out CLEANUP(buffer_clear) = {0};
		struct buffer expected CLEANUP(buffer_clear) = {0};
		const struct reports_mail mail = {.from = "tls@mx.test",
						  .to = "r@a.test",
						  .domain = "a.test",
						  .submitter = "mx.test",
						  .id = "7.id",
						  .begin_us = BEGIN_US,
						  .now_us = BEGIN_US + DAY_US + HOUR_US +
							    2 * MINUTE_US + 3 * SECOND_US,
						  .content = {bytes, length}};

		for (size_t i = 0; i < length; i++)
			bytes[i] = (char)i;
		reports_mail_format(&mail, &out);
		buffer_append_string(&expected, head);
		for (size_t at = 0; at < length; at += 57) {
			base64_append(&expected,
				      str_slice(bytes + at, length - at < 57 ? length - at : 57));
			buffer_append_string(&expected, "\r\n");
		}
		buffer_append_string(&expected, "--7.id--\r\n");
		if (!str_equal(buffer_view(&out), buffer_view(&expected)))
			fail_msg("%zu: " STR_FORMAT, length, STR_ARGUMENTS(buffer_view(&out)));
	}
}

static int set_up(void **state)
{
	static const struct tlsrpt_session session = {.domain = STR("a.test")};

	(void)state;
	world.day = tlsrpt_day_new();
	tlsrpt_day_count(world.day, &session, STR(""), STR(""));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tlsrpt_day_free(world.day);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_targets),
		cmocka_unit_test(one_that_is_given_up_at_each_step),
		cmocka_unit_test(what_the_dns_says),
		cmocka_unit_test(what_is_posted_is_the_report),
		cmocka_unit_test(a_message_holds_what_was_compressed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
