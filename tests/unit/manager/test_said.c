// SPDX-License-Identifier: ISC
#include "base/timestamp.h"
#include "manager/said.h"
#include "test.h"
#include <stdio.h>

enum { SERVERS = 120, SHOWN = 100 };

static const int64_t BEGIN_US = 1000 * HOUR_US;

static void note(struct said *said, const char *host, uint32_t amount, int64_t now_us)
{
	said_note(said,
		  &(struct ipc_job_said){.host = str_from(host),
					 .port = 25,
					 .what = IPC_JOB_SAID_MESSAGES,
					 .amount = amount,
					 .id = {7, 8},
					 .to = STR("r@d.test"),
					 .status = STR("4.4.5"),
					 .text = STR("no more now")},
		  now_us);
}

static void check(const struct said *said, size_t index, int64_t now_us, const char *expected)
{
	struct buffer told CLEANUP(buffer_clear) = {0};

	said_tell(said, index, now_us, &told);
	if (!str_equal(buffer_view(&told), str_from(expected)))
		fail_msg("\"" STR_FORMAT "\", not \"%s\"", STR_ARGUMENTS(buffer_view(&told)),
			 expected);
}

/* The latest comes first; of one kind from one server only the last is kept. */
static void the_latest_is_told_first(void **state)
{
	struct said *said = said_new();

	(void)state;
	check(said, 0, BEGIN_US, "");
	note(said, "a.test", 3, BEGIN_US);
	note(said, "b.test", 4, BEGIN_US + SECOND_US);
	note(said, "a.test", 2, BEGIN_US + 2 * SECOND_US);
	check(said, 0, BEGIN_US + 5 * SECOND_US,
	      "a.test 25 3 messages 2 7-8 r@d.test 4.4.5 no more now");
	check(said, 1, BEGIN_US + 5 * SECOND_US,
	      "b.test 25 4 messages 4 7-8 r@d.test 4.4.5 no more now");
	check(said, 2, BEGIN_US + 5 * SECOND_US, "");
	check(said, SIZE_MAX, BEGIN_US, "");
	check(said, 0, BEGIN_US + 2 * HOUR_US, "");
	said_free(said);
}

static void it_is_bounded(void **state)
{
	struct said *said = said_new();
	char host[16];

	(void)state;
	for (unsigned i = 0; i < SERVERS; i++) {
		snprintf(host, sizeof host, "h%u", i);
		note(said, host, i, BEGIN_US);
	}
	check(said, SHOWN - 1, BEGIN_US, "h20 25 0 messages 20 7-8 r@d.test 4.4.5 no more now");
	check(said, SHOWN, BEGIN_US, "");
	said_free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_is_told_first),
		cmocka_unit_test(it_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
