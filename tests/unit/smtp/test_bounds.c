// SPDX-License-Identifier: ISC
/* What a stranger sends is just as long as allowed, or one byte longer. Everything
 * lies in memory of its own exact size, so that a sanitizer sees who reads on. */
#include "mail/localpart.h"
#include "mail/text/xtext.h"
#include "queue/inject/envelope.h"
#include "queue/inject/header.h"
#include "smtp/client/internal.h"
#include "smtp/proxy.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* BEFORE, COUNT times BYTE, and AFTER; free() its data. */
static struct str padded(const char *before, char byte, size_t count, const char *after)
{
	size_t length = strlen(before) + count + strlen(after);
	char *text = malloc(length);

	assert_non_null(text);
	memcpy(text, before, strlen(before));
	memset(text + strlen(before), byte, count);
	memcpy(text + strlen(before) + count, after, strlen(after));
	return str_slice(text, length);
}

static void discard(struct str text)
{
	free((void *)(uintptr_t)text.data);
}

/* Whether a reply that is TEXT is understood. */
static bool is_reply(struct str text)
{
	struct smtp_client_reply reply = {0};
	struct str rest = text;
	bool is_whole = smtp_client_reply_take(&reply, &rest) == SMTP_CLIENT_REPLY_COMPLETE;

	smtp_client_reply_clear(&reply);
	discard(text);
	return is_whole;
}

static void a_line_of_a_reply(void **state)
{
	(void)state;
	assert_true(is_reply(padded("250 ", 'x', SMTP_CLIENT_LINE_MAX - 4, "\r\n")));
	assert_false(is_reply(padded("250 ", 'x', SMTP_CLIENT_LINE_MAX - 3, "\r\n")));
	assert_true(is_reply(padded("250 ", 'x', SMTP_CLIENT_LINE_MAX - 4, "\n")));
	assert_false(is_reply(padded("250 ", 'x', SMTP_CLIENT_LINE_MAX - 3, "\n")));
}

static void the_text_of_a_verdict(void **state)
{
	struct str text = padded("550 ", 'x', 4 * MAIL_TEXT_SIZE, "\r\n");
	struct smtp_client_reply reply = {0};
	struct mail_verdict verdict;
	struct str rest = text;

	(void)state;
	assert_int_equal(smtp_client_reply_take(&reply, &rest), SMTP_CLIENT_REPLY_COMPLETE);
	smtp_client_reply_verdict(&reply, "mx.test", NULL, &verdict);
	assert_int_equal(strlen(verdict.text), MAIL_TEXT_SIZE - 1);
	assert_string_equal(verdict.status, "5.0.0");
	smtp_client_reply_clear(&reply);
	discard(text);
}

static void lines_of_a_refusal_are_one_text(void **state)
{
	static const struct {
		const char *reply;
		const char *command;
		const char *text;
	} cases[] = {
		{"550-5.1.1 no such user\r\n550-5.1.1 ask them\r\n550 then\r\n", "RCPT",
		 "mx.test said: 550 5.1.1 no such user / ask them / then (in reply to RCPT)"},
		{"451\r\n", "DATA", "mx.test said: 451 (in reply to DATA)"},
		{"554 no\r\n", NULL, "mx.test said: 554 no"},
		{"250-a\r\n250 b\r\n", "RCPT", "mx.test said: 250 a / b"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct smtp_client_reply reply = {0};
		struct mail_verdict verdict;
		struct str rest = str_from(cases[i].reply);

		assert_int_equal(smtp_client_reply_take(&reply, &rest), SMTP_CLIENT_REPLY_COMPLETE);
		smtp_client_reply_verdict(&reply, "mx.test", cases[i].command, &verdict);
		assert_string_equal(verdict.text, cases[i].text);
		smtp_client_reply_clear(&reply);
	}
}

static void a_long_refusal_keeps_its_command(void **state)
{
	struct str text = padded("550 ", 'x', 4 * MAIL_TEXT_SIZE, "\r\n");
	struct smtp_client_reply reply = {0};
	struct mail_verdict verdict;
	struct str rest = text;

	(void)state;
	assert_int_equal(smtp_client_reply_take(&reply, &rest), SMTP_CLIENT_REPLY_COMPLETE);
	smtp_client_reply_verdict(&reply, "mx.test", "RCPT", &verdict);
	assert_int_equal(strlen(verdict.text), MAIL_TEXT_SIZE - 1);
	assert_non_null(strstr(verdict.text, "xx (in reply to RCPT)"));
	smtp_client_reply_clear(&reply);
	discard(text);
}

static void an_outgoing_address(void **state)
{
	struct str longest = padded("a@", 'x', MAIL_ADDRESS_MAX - 2, "");
	struct str longer = padded("a@", 'x', MAIL_ADDRESS_MAX - 1, "");

	(void)state;
	assert_true(client_is_safe_path(longest));
	assert_false(client_is_safe_path(longer));
	discard(longest);
	discard(longer);
}

static enum smtp_proxy_state proxy_state(struct str line)
{
	struct smtp_proxy proxy;
	enum smtp_proxy_state found = smtp_proxy_parse(line, &proxy);

	discard(line);
	return found;
}

static void the_address_of_a_proxy(void **state)
{
	(void)state;
	/* as long as any, and longer than any address: not copied */
	assert_int_equal(proxy_state(padded("PROXY TCP4 192.0.2.7 ", '1', 45, " 1 2\r\n")),
			 SMTP_PROXY_WRONG);
	assert_int_equal(proxy_state(padded("PROXY TCP4 ", '1', 46, " 10.0.0.1 1 2\r\n")),
			 SMTP_PROXY_WRONG);
	assert_int_equal(proxy_state(padded("PROXY TCP4 ", '1', 70, " 10.0.0.1 1 2\r\n")),
			 SMTP_PROXY_WRONG);
}

static int address_result(struct str text)
{
	struct mail_address address;
	int result = mail_address_parse(text, 0, &address);

	discard(text);
	return result;
}

static void an_address(void **state)
{
	(void)state;
	assert_int_equal(address_result(padded("a@[", '1', 45, "]")), -EINVAL);
	assert_int_equal(address_result(padded("a@[", '1', 46, "]")), -EINVAL);
	assert_int_equal(address_result(padded("a@[IPv6:", '1', 240, "]")), -EINVAL);
	assert_int_equal(address_result(padded("a@[", '1', 400, "]")), -ENAMETOOLONG);
}

static void a_domain(void **state)
{
	char name[MAIL_DOMAIN_MAX + 3];

	(void)state;
	for (size_t i = 0; i < sizeof name; i++)
		name[i] = i % 2 == 0 ? 'a' : '.';
	assert_true(mail_domain_is_valid(str_slice(name, MAIL_DOMAIN_MAX)));
	assert_false(mail_domain_is_valid(str_slice(name, MAIL_DOMAIN_MAX + 2)));
}

static int local_result(struct str text)
{
	struct mail_localpart local;
	int result = mail_localpart_parse(text, &local);

	discard(text);
	return result;
}

static void the_name_of_a_mailbox(void **state)
{
	struct str longest = padded("", 'a', 255, "");
	struct str longer = padded("", 'a', 256, "");

	(void)state;
	assert_int_equal(local_result(padded("", 'a', MAIL_DOMAIN_MAX, "")), 0);
	assert_int_equal(local_result(padded("", 'a', MAIL_DOMAIN_MAX + 1, "")), -EINVAL);
	assert_int_equal(local_result(padded("\"", 'a', MAIL_DOMAIN_MAX - 1, "\"")), -EINVAL);
	assert_true(mail_name_is_path_safe(longest));
	assert_false(mail_name_is_path_safe(longer));
	discard(longest);
	discard(longer);
}

static bool is_xtext(const char *text)
{
	struct str copy = padded(text, 'x', 0, "");
	bool is_valid = mail_xtext_is_valid(copy);

	discard(copy);
	return is_valid;
}

static void a_code_of_xtext(void **state)
{
	(void)state;
	assert_true(is_xtext("a+40"));
	assert_false(is_xtext("a+4"));
	assert_false(is_xtext("a+"));
	assert_false(is_xtext("a+0A"));
}

/* The end of a pipe from which TEXT comes, all of which fits into it. */
static int pipe_of(struct str text)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], text.data, text.length), text.length);
	close(ends[1]);
	discard(text);
	return ends[0];
}

static void the_bytes_of_an_envelope(void **state)
{
	static const char begin[] = "Fa@b.test";
	struct str text = padded(begin, 'x', 6000, "");
	const struct inject_envelope_settings limits = {.bytes = 5000, .recipients = 10};
	struct mail_envelope *envelope = mail_envelope_new();
	struct buffer reason = {0};
	int input = pipe_of(text);

	(void)state;
	assert_int_equal(inject_envelope_read(input, &limits, envelope, &reason), -E2BIG);
	assert_true(str_equal(buffer_view(&reason), STR("the envelope is over 5000 bytes")));
	close(input);
	mail_envelope_free(envelope);
	buffer_clear(&reason);
}

/* Of a header that never ends no more is kept than is allowed. */
static void a_header(void **state)
{
	struct str field = padded("Subject: ", 'x', INJECT_HEADER_MAX, "");
	struct inject_reader reader = {.descriptor = pipe_of(padded("", 'y', 100, "\n"))};
	struct inject_header header = {0};

	(void)state;
	buffer_append_str(&header.body, field);
	assert_int_equal(inject_header_read(&reader, &header), -EFBIG);
	inject_header_clear(&header);
	close(reader.descriptor);
	discard(field);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_a_reply),
		cmocka_unit_test(the_text_of_a_verdict),
		cmocka_unit_test(lines_of_a_refusal_are_one_text),
		cmocka_unit_test(a_long_refusal_keeps_its_command),
		cmocka_unit_test(an_outgoing_address),
		cmocka_unit_test(the_address_of_a_proxy),
		cmocka_unit_test(an_address),
		cmocka_unit_test(a_domain),
		cmocka_unit_test(the_name_of_a_mailbox),
		cmocka_unit_test(a_code_of_xtext),
		cmocka_unit_test(the_bytes_of_an_envelope),
		cmocka_unit_test(a_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
