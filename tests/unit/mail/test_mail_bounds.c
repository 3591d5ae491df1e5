// SPDX-License-Identifier: ISC
/* Addresses, folders, servers and deadlines at their bounds, and one beyond. */
#include "base/buffer.h"
#include "base/timestamp.h"
#include "mail/address.h"
#include "mail/deadline.h"
#include "mail/mailbox/folder.h"
#include "mail/server.h"
#include "mail/verp.h"
#include "test.h"
#include <errno.h>
#include <string.h>

static char space[1000];

/* LENGTH times LETTER, and END. */
static struct str text_of(size_t length, char letter, const char *end)
{
	memset(space, letter, length);
	memcpy(space + length, end, strlen(end));
	return str_slice(space, length + strlen(end));
}

/* LENGTH bytes of labels of 63 at most. */
static struct str name_of(size_t length)
{
	for (size_t i = 0; i < length; i++)
		space[i] = i % 50 == 49 ? '.' : 'a';
	space[length - 1] = 'b';
	if (length > 1 && space[length - 2] == '.')
		space[length - 2] = 'a';
	return str_slice(space, length);
}

static void a_local_part(void **state)
{
	struct mail_address address;

	(void)state;
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		int error = beyond > 0 ? -EINVAL : 0;

		assert_int_equal(
			mail_address_parse(text_of(MAIL_LOCAL_MAX + beyond, 'x', "@a.test"),
					   MAIL_ADDRESS_STRICT, &address) == 0,
			error == 0);
		assert_int_equal(
			mail_address_parse(text_of(MAIL_LOCAL_MAX + beyond, 'x', "@a.test"), 0,
					   &address),
			0);
		assert_int_equal(address.local.length, MAIL_LOCAL_MAX + beyond);
		assert_int_equal(
			mail_address_parse(text_of(MAIL_LOCAL_LONG_MAX + beyond, 'x', "@a.test"), 0,
					   &address) == 0,
			error == 0);
	}
}

static void a_folder(void **state)
{
	(void)state;
	for (size_t length = 0; length <= MAIL_FOLDER_MAX + 1; length++)
		assert_int_equal(mail_folder_is_valid(text_of(length, 'x', "")),
				 length >= 1 && length <= MAIL_FOLDER_MAX);
}

static void a_server(void **state)
{
	struct mail_server server;

	(void)state;
	for (size_t length = MAIL_SERVER_HOST_MAX - 1; length <= MAIL_SERVER_HOST_MAX + 1;
	     length++) {
		struct buffer text = {0};
		int error;

		buffer_append_str(&text, name_of(length));
		buffer_append_string(&text, ":25");
		error = mail_server_parse(buffer_view(&text), &server);
		assert_int_equal(error == 0, length <= MAIL_SERVER_HOST_MAX);
		if (error == 0)
			assert_int_equal(server.host.length, length);
		buffer_clear(&text);
	}
}

/* Whoever is told that a report is wanted at a time hears of no more digits than fit. */
static void a_deadline(void **state)
{
	static const int64_t most_us = MAIL_DEADLINE_SECONDS_MAX * SECOND_US;
	static const struct {
		int64_t at_us, left;
	} rows[] = {{most_us, MAIL_DEADLINE_SECONDS_MAX},
		    {most_us - SECOND_US, MAIL_DEADLINE_SECONDS_MAX - 1},
		    {most_us + SECOND_US, MAIL_DEADLINE_SECONDS_MAX},
		    {-most_us, -MAIL_DEADLINE_SECONDS_MAX},
		    {-most_us - 1, -MAIL_DEADLINE_SECONDS_MAX},
		    {1 - most_us, -MAIL_DEADLINE_SECONDS_MAX},
		    {SECOND_US - most_us, 1 - MAIL_DEADLINE_SECONDS_MAX},
		    {0, 0},
		    {1, 0},
		    {-1, -1},
		    {SECOND_US - 1, 0},
		    {SECOND_US, 1},
		    {-SECOND_US, -1},
		    {-SECOND_US - 1, -2}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int64_t later_us = 0; later_us <= 1; later_us++) {
			/* of the times of birth and of now the later one */
			struct mail_deadline deadline = {.at_us = 5 * SECOND_US + rows[i].at_us};

			assert_int_equal(mail_deadline_left(&deadline, 5 * SECOND_US - later_us,
							    5 * SECOND_US),
					 rows[i].left);
			assert_int_equal(mail_deadline_left(&deadline, 5 * SECOND_US,
							    5 * SECOND_US - later_us),
					 rows[i].left);
		}
}

/* What is made is no longer than others take; otherwise the sender stays as it is. */
static void an_expanded_sender(void **state)
{
	(void)state;
	for (size_t length = MAIL_LOCAL_MAX - 20; length <= MAIL_LOCAL_MAX; length++) {
		struct buffer recipient = {0}, out = {0};
		bool is_made = strlen("l-") + length + strlen("=a.test") <= MAIL_LOCAL_MAX;

		buffer_append_str(&recipient, text_of(length, 'x', "@a.test"));
		mail_verp_expand(STR("l-@b.test-@[]"), buffer_view(&recipient), &out);
		assert_int_equal(str_find(buffer_view(&out), '=') >= 0, is_made);
		if (!is_made)
			assert_true(str_equal(buffer_view(&out), STR("l-@b.test")));
		buffer_clear(&recipient);
		buffer_clear(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_local_part),       cmocka_unit_test(a_folder),
		cmocka_unit_test(a_server),           cmocka_unit_test(a_deadline),
		cmocka_unit_test(an_expanded_sender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
