// SPDX-License-Identifier: ISC
#include "test.h"
#include "transcript/transcript.h"
#include <arpa/inet.h>
#include <string.h>

static struct transcript_said last;
static struct buffer last_body;
static unsigned count;

static void take(void *context, struct str said)
{
	assert_ptr_equal(context, &count);
	buffer_reset(&last_body);
	buffer_append_str(&last_body, said);
	assert_true(transcript_unpack_said(buffer_view(&last_body), &last));
	count++;
}

static struct transcript_filter filter(uint32_t watcher, const char *address, unsigned prefix,
				       const char *domain)
{
	struct transcript_filter made = {.watcher = watcher, .has_network = address != NULL};

	if (address != NULL) {
		made.network.prefix = prefix;
		assert_int_equal(inet_pton(AF_INET6, address, &made.network.address), 1);
	}
	if (domain != NULL)
		assert_true(mail_domain_form(str_from(domain), &made.domain));
	return made;
}

static void configure(const struct transcript_filter *filters, size_t number)
{
	struct buffer packed CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < number; i++)
		transcript_pack(&packed, &filters[i]);
	transcript_say_by(take, &count);
	assert_true(transcript_configure(buffer_view(&packed)));
	assert_int_equal(*transcript_is_on(), number > 0);
}

/* The watchers that get a line, one bit each. */
static uint32_t watchers(const char *address, const char *name, const char *other)
{
	struct in6_addr mapped;
	struct transcript_peer peer = {.shown = "peer", .names = {str_from(name), str_from(other)}};
	uint64_t session = 0;

	if (address != NULL) {
		assert_int_equal(inet_pton(AF_INET6, address, &mapped), 1);
		peer.address = &mapped;
	}
	count = 0;
	last.watchers = 0;
	transcript_line(&session, &peer, TRANSCRIPT_CLIENT, STR("NOOP"));
	return last.watchers;
}

static void who_watches_is_told(void **state)
{
	const struct transcript_filter filters[] = {
		filter(0, "::ffff:192.0.2.0", 120, NULL),
		filter(1, NULL, 0, "example.org"),
		filter(5, "::ffff:192.0.2.7", 128,
		       "b\xc3\xbc"
		       "cher.example"),
		filter(7, "::", 0, NULL),
		filter(6, "::ffff:198.51.100.0", 120, "example.net"),
	};

	(void)state;
	configure(filters, 5);
	assert_int_equal(watchers("::ffff:192.0.2.9", "", ""), 1 | 128);
	assert_int_equal(watchers("::ffff:192.0.3.9", "", ""), 128);
	assert_int_equal(watchers("2001:db8::1", "mx.Example.ORG", ""), 2 | 128);
	assert_int_equal(watchers(NULL, "", "example.org."), 0); /* no name of a host */
	assert_int_equal(watchers(NULL, "", "example.org"), 2);
	assert_int_equal(watchers(NULL, "notexample.org", "org"), 0);
	assert_int_equal(count, 0);
	assert_int_equal(watchers("::ffff:192.0.2.7", "xn--bcher-kva.example", ""), 1 | 32 | 128);
	assert_int_equal(watchers("::ffff:192.0.2.8", "xn--bcher-kva.example", ""), 1 | 128);
	assert_int_equal(watchers("::ffff:198.51.100.2", "mx.example.net", ""), 64 | 128);
	assert_int_equal(watchers("::ffff:198.51.100.2", "mx.example.com", ""), 128);
	assert_int_equal(watchers("::ffff:192.0.2.2", "mx.example.net", ""), 1 | 128);
	configure(filters, 0);
	assert_int_equal(watchers("::ffff:192.0.2.9", "example.org", ""), 0);
}

static void malformed_filters_are_none(void **state)
{
	const struct transcript_filter any[] = {filter(0, "::", 0, NULL), filter(1, "::", 0, NULL)};
	struct buffer packed CLEANUP(buffer_clear) = {0};

	(void)state;
	transcript_pack(&packed, &any[0]);
	transcript_pack(&packed, &any[1]);
	for (size_t length = 1; length < packed.length; length++) {
		if (2 * length == packed.length)
			continue; /* the first, whole */
		configure(any, 2);
		assert_false(transcript_configure(str_slice(buffer_data(&packed), length)));
		assert_false(*transcript_is_on());
	}
	for (unsigned i = 2; i <= TRANSCRIPT_WATCHERS_MAX; i++)
		transcript_pack(&packed, &any[0]);
	assert_false(transcript_configure(buffer_view(&packed)));
	buffer_reset(&packed);
	transcript_pack(&packed, &(struct transcript_filter){.watcher = 1}); /* all there is */
	assert_false(transcript_configure(buffer_view(&packed)));
	buffer_reset(&packed);
	transcript_pack(&packed, &(struct transcript_filter){.watcher = TRANSCRIPT_WATCHERS_MAX,
							     .has_network = true});
	assert_false(transcript_configure(buffer_view(&packed)));
	buffer_reset(&packed);
	transcript_pack(&packed, &(struct transcript_filter){.has_network = true,
							     .network = {.prefix = 129}});
	assert_false(transcript_configure(buffer_view(&packed)));
}

static void lines_are_bounded(void **state)
{
	const struct transcript_filter all = filter(3, "::", 0, NULL);
	static char long_line[TRANSCRIPT_LINE_MAX + 1];
	const struct in6_addr address = {0};
	const struct transcript_peer peer = {.shown = "p", .address = &address};
	uint64_t session = 0;
	uint64_t other = 0;

	(void)state;
	configure(&all, 1);
	memset(long_line, 'x', sizeof long_line);
	transcript_line(&session, &peer, TRANSCRIPT_SERVER, str_slice(long_line, sizeof long_line));
	assert_int_equal(last.line.length, TRANSCRIPT_LINE_MAX);
	assert_memory_equal(last.line.data + TRANSCRIPT_LINE_MAX - 4, "x...", 4);
	assert_int_equal(last.side, TRANSCRIPT_SERVER);
	transcript_line(&other, &peer, TRANSCRIPT_NOTE, str_slice(long_line, TRANSCRIPT_LINE_MAX));
	assert_int_equal(last.line.data[TRANSCRIPT_LINE_MAX - 1], 'x');
	assert_true(session != 0 && other != 0 && session != other && last.session == other);
	count = 0;
	for (unsigned i = 0; i < 3 * TRANSCRIPT_LINES_MAX; i++)
		transcript_line(&session, &peer, TRANSCRIPT_CLIENT, STR("NOOP"));
	assert_in_range(count, TRANSCRIPT_LINES_MAX - 10, 2 * TRANSCRIPT_LINES_MAX + 10);
	assert_true(str_equal(last.line, STR("(too many lines in a second: some are left out)")) ||
		    count > TRANSCRIPT_LINES_MAX + 10); /* a second has ended meanwhile */
}

/* What a process says that is not ours any more. */
static void a_peer_and_a_line_are_so_long(void **state)
{
	static const struct {
		size_t peer, line;
		bool is_taken;
	} cases[] = {{TRANSCRIPT_PEER_MAX, TRANSCRIPT_LINE_MAX, true},
		     {TRANSCRIPT_PEER_MAX + 1, 1, false},
		     {1, TRANSCRIPT_LINE_MAX + 1, false}};
	static const char text[TRANSCRIPT_LINE_MAX + 1];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer body CLEANUP(buffer_clear) = {0};
		struct transcript_said said;

		pack_u32(&body, 1);
		pack_u64(&body, 1);
		pack_u64(&body, 1);
		pack_u32(&body, TRANSCRIPT_SERVER);
		pack_str(&body, str_slice(text, cases[i].peer));
		pack_str(&body, str_slice(text, cases[i].line));
		assert_int_equal(transcript_unpack_said(buffer_view(&body), &said),
				 cases[i].is_taken);
	}
}

static void what_is_said_is_not_believed(void **state)
{
	const struct transcript_said said = {.watchers = 9,
					     .session = 4,
					     .time_us = 77,
					     .side = TRANSCRIPT_SERVER,
					     .peer = STR("p"),
					     .line = STR("250 ok")};
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct transcript_said read;

	(void)state;
	transcript_pack_said(&body, &said);
	assert_true(transcript_unpack_said(buffer_view(&body), &read));
	assert_int_equal(read.watchers, 9);
	assert_int_equal(read.time_us, 77);
	assert_true(str_equal(read.line, STR("250 ok")) && str_equal(read.peer, STR("p")));
	for (size_t length = 0; length < body.length; length++)
		assert_false(transcript_unpack_said(str_slice(buffer_data(&body), length), &read));
	buffer_append_byte(&body, 'x');
	assert_false(transcript_unpack_said(buffer_view(&body), &read));
}

static int end(void **state)
{
	(void)state;
	buffer_clear(&last_body);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_watches_is_told),
		cmocka_unit_test(malformed_filters_are_none),
		cmocka_unit_test(lines_are_bounded),
		cmocka_unit_test(a_peer_and_a_line_are_so_long),
		cmocka_unit_test(what_is_said_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
