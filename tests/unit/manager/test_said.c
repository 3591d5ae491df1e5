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

/* --- what was said, in any order, against a list of all of it --- */

enum { STEPS = 12, PLAYS = 3000, WHATS = IPC_JOB_SAID_KINDS };

static uint32_t random_below(uint32_t bound)
{
	static uint64_t random_state = 1;

	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % bound);
}

static const char *word_of(unsigned what)
{
	return what == IPC_JOB_SAID_SLOWER        ? "slower"
	       : what == IPC_JOB_SAID_CONNECTIONS ? "connections"
	       : what == IPC_JOB_SAID_MESSAGES    ? "messages"
	       : what == IPC_JOB_SAID_RECIPIENTS  ? "recipients"
						  : "renewed";
}

struct once {
	struct ipc_job_said what;
	int64_t at_us;
};

static bool is_overtaken(const struct once *all, size_t index, size_t count)
{
	for (size_t i = index + 1; i < count; i++)
		if (all[i].what.what == all[index].what.what &&
		    all[i].what.port == all[index].what.port &&
		    str_equal(all[i].what.host, all[index].what.host))
			return true;
	return false;
}

/* The last of each kind of each server, the latest first. */
static void check_all(const struct said *said, const struct once *all, size_t count, int64_t now_us)
{
	size_t index = 0;

	for (size_t i = count; i-- > 0;) {
		const struct ipc_job_said *what = &all[i].what;
		char line[100] = "";

		if (is_overtaken(all, i, count))
			continue;
		if (now_us - all[i].at_us < HOUR_US)
			snprintf(line, sizeof line, STR_FORMAT " %u %lld %s %u 7-8 r s t",
				 STR_ARGUMENTS(what->host), what->port,
				 (long long)((now_us - all[i].at_us) / SECOND_US),
				 word_of(what->what), what->amount);
		check(said, index++, now_us, line);
	}
	check(said, index, now_us, "");
}

static void the_last_of_each_kind_is_kept(void **state)
{
	static const int64_t pauses_us[] = {0, 1, SECOND_US, 59 * MINUTE_US, HOUR_US - 1, HOUR_US};

	(void)state;
	for (unsigned play = 0; play < PLAYS; play++) {
		struct said *said = said_new();
		struct once all[STEPS];
		int64_t now_us = BEGIN_US;

		for (unsigned i = 0; i < STEPS; i++) {
			now_us += pauses_us[random_below(COUNT_OF(pauses_us))];
			all[i] = (struct once){
				.what = {.host = random_below(2) > 0 ? STR("a.test")
								     : STR("b.test"),
					 .port = 25 + random_below(2),
					 .what = random_below(WHATS),
					 .amount = play + i,
					 .id = {7, 8},
					 .to = STR("r"),
					 .status = STR("s"),
					 .text = STR("t")},
				.at_us = now_us,
			};
			said_note(said, &all[i].what, now_us);
			check_all(said, all, i + 1,
				  now_us + pauses_us[random_below(COUNT_OF(pauses_us))]);
		}
		said_free(said);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_is_told_first),
		cmocka_unit_test(it_is_bounded),
		cmocka_unit_test(the_last_of_each_kind_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
