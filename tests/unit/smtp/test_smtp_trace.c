// SPDX-License-Identifier: ISC
/* The Received field and the origin of each kind of client, all that can be known of it being known
 * or not. */
#include "base/arena.h"
#include "base/attributes.h"
#include "base/buffer.h"
#include "smtp/server/trace.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { CHOICES = 7, FROM_CLIENTS = 3, RECIPIENTS = 4, TEXT_MAX = 1024 };

static const struct client {
	const char *address;
	const char *literal; /* in a field */
	const char *origin;
} clients[FROM_CLIENTS] = {
	{"", "", "local"},
	{"192.0.2.7", "[192.0.2.7]", "192.0.2.7:53112"},
	{"2001:db8::7", "[IPv6:2001:db8::7]", "[2001:db8::7]:53112"},
};

static const struct mail_recipient recipients[] = {
	{.number = 1, .address = {"kim@example.com", 15}},
	{.number = 1, .address = {"k\xc3\xadm@example.com", 16}},
};

/* What is known; each a bit of a number. */
struct known {
	bool helo, name, tls, user, shows_user, hides_client, is_unicode;
};

static struct known known_of(unsigned bits)
{
	return (struct known){bits & 1,  bits & 2,  bits & 4, bits & 8,
			      bits & 16, bits & 32, bits & 64};
}

static void write_from(char *text, const struct client *client, struct known known)
{
	const char *greeted = known.helo                   ? "greeting"
			      : client->literal[0] != '\0' ? client->literal
							   : "mx.example.net";

	if (client->literal[0] == '\0')
		snprintf(text, TEXT_MAX, "from %s", greeted);
	else
		snprintf(text, TEXT_MAX, "from %s (%s%s)", greeted,
			 known.name ? "client.example.org " : "", client->literal);
}

static void write_expected(char *text, const struct client *client, struct known known,
			   const char *date, size_t count)
{
	char from[TEXT_MAX];

	write_from(from, client, known);
	snprintf(text, TEXT_MAX,
		 "Received: %s%s%s%s\r\n\tby mx.example.net with ESMTP id 457-1c%s;\r\n\t%s\r\n",
		 known.hides_client ? "" : from, known.tls && !known.hides_client ? "\r\n\t" : "",
		 known.tls ? "(using TLSv1.3 with cipher STRONG)" : "",
		 known.user && known.shows_user ? "\r\n\t(authenticated as a????~?)" : "",
		 count == 1 && !known.is_unicode ? "\r\n\tfor <kim@example.com>" : "", date);
}

static void check_received(const struct smtp_trace *trace, const struct client *client,
			   struct known known)
{
	for (size_t count = 0; count < RECIPIENTS; count++) {
		struct mail_recipient list[RECIPIENTS] = {recipients[known.is_unicode],
							  recipients[0], recipients[0]};
		const struct mail_envelope envelope = {
			.id = {457, 0x1c}, .recipients = list, .recipient_count = (uint32_t)count};
		char expected[TEXT_MAX];
		char date[TIMESTAMP_HEADER_SIZE];
		struct buffer out = {0};

		timestamp_format_header(envelope.id.born_us, date);
		write_expected(expected, client, known, date, count);
		smtp_trace_append(&out, trace, &envelope);
		buffer_append_byte(&out, '\0');
		assert_string_equal(buffer_data(&out), expected);
		buffer_clear(&out);
	}
}

static void check_origin(const struct smtp_trace *trace, const struct client *client,
			 struct known known)
{
	struct arena *arena = arena_new();
	char expected[TEXT_MAX];
	struct str origin = smtp_trace_origin(trace, arena);

	snprintf(expected, sizeof expected, "smtp %s%s%s%s%s", client->origin,
		 known.name ? " name=client.example.org" : "", known.helo ? " helo=greeting" : "",
		 known.tls ? " tls=TLSv1.3" : "", known.user ? " user=a????~?" : "");
	assert_true(str_equal(origin, str_from(expected)));
	arena_free(arena);
}

static void everything_that_is_known_is_said_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < FROM_CLIENTS; i++) {
		for (unsigned bits = 0; bits < 1u << CHOICES; bits++) {
			const struct known known = known_of(bits);
			const struct smtp_peer peer = {.address = clients[i].address,
						       .name = known.name ? "client.example.org"
									  : "",
						       .port = 53112};
			const struct smtp_tls tls = {known.tls ? "TLSv1.3" : NULL, "STRONG"};
			const struct smtp_trace trace = {
				.peer = &peer,
				.tls = &tls,
				.helo = known.helo ? "greeting" : NULL,
				.user = known.user ? "a(\\) ~\x7f" : NULL,
				.shows_user = known.shows_user,
				.hides_client = known.hides_client,
				.hostname = "mx.example.net",
				.with = "ESMTP",
				.protocol = "smtp",
			};

			check_received(&trace, &clients[i], known);
			check_origin(&trace, &clients[i], known);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_that_is_known_is_said_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
