// SPDX-License-Identifier: ISC
/* Questions about users of this machine, with a helper that is played: in any order of questions,
 * answers, ends of patience and cancellations each is told once what is right. */
#include "base/timestamp.h"
#include "fake_loop.h"
#include "intake/accounts.h"
#include "os/clock.h"
#include "os/process/account.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 120, WITH_HELPER_MAX = 32, STEPS = 400, HELPER = 900 };

static const int64_t patience_us = 10 * SECOND_US;

/* --- the helper --- */

static struct {
	size_t room;              /* names that its socket has room for */
	char names[REQUESTS][64]; /* that were asked for, in their order */
	size_t asked, answered;
	size_t ready; /* answers that can be read */
} helper;

/* Of "u7": found with 7 as its uid, none, or an error. */
static int error_of(size_t number)
{
	static const int errors[] = {0, -ENOENT, -ETIMEDOUT};

	return errors[number % 3];
}

int __wrap_os_process_account_ask(int socket, const char *name);
int __wrap_os_process_account_ask(int socket, const char *name)
{
	assert_int_equal(socket, HELPER);
	if (helper.asked - helper.answered >= helper.room)
		return -EAGAIN;
	snprintf(helper.names[helper.asked++], sizeof helper.names[0], "%s", name);
	assert_true(helper.asked - helper.answered <= WITH_HELPER_MAX);
	return 0;
}

int __wrap_os_process_account_answer(int socket, int *error_out, struct os_process_account *out);
int __wrap_os_process_account_answer(int socket, int *error_out, struct os_process_account *out)
{
	size_t number;

	assert_int_equal(socket, HELPER);
	if (helper.ready == 0)
		return 0;
	helper.ready--;
	number = strtoul(helper.names[helper.answered++] + 1, NULL, 10);
	*error_out = error_of(number);
	if (*error_out == 0)
		out->user.uid = (uid_t)number;
	return 1;
}

/* --- who asks --- */

static struct request {
	struct intake_account_request request;
	size_t number;
	int64_t began_us;
	bool is_pending;
} requests[REQUESTS];

static void on_found(void *context, enum intake_account account, uid_t uid)
{
	struct request *request = context;
	int64_t waited_us = os_clock_monotonic_us() - request->began_us;
	int error = error_of(request->number);

	assert_true(request->is_pending);
	assert_null(request->request.question);
	request->is_pending = false;
	if (account == INTAKE_ACCOUNT_UNKNOWN && error != -ETIMEDOUT) {
		assert_true(waited_us >= patience_us);
		return;
	}
	assert_int_equal(account, error == 0         ? INTAKE_ACCOUNT_FOUND
				  : error == -ENOENT ? INTAKE_ACCOUNT_NONE
						     : INTAKE_ACCOUNT_UNKNOWN);
	if (error == 0)
		assert_int_equal(uid, request->number);
}

static void ask(struct intake_accounts *accounts, size_t number)
{
	struct request *request = &requests[number];
	char name[16];

	*request = (struct request){
		{.found = on_found, .context = request}, number, os_clock_monotonic_us(), true};
	snprintf(name, sizeof name, "u%zu", number);
	intake_accounts_find(accounts, str_from(name), &request->request);
}

static void cancel(struct request *request)
{
	intake_accounts_cancel(&request->request);
	assert_null(request->request.question);
	request->is_pending = false;
	intake_accounts_cancel(&request->request); /* does nothing */
}

/* The helper answers COUNT of those that it was asked. */
static void let_answer(size_t count)
{
	size_t open = helper.asked - helper.answered;

	helper.ready = count < open ? count : open;
	assert_true(fake_play_file());
	assert_int_equal(helper.ready, 0);
}

/* Nobody waits longer than he has to, and the helper has as many as it may; names are asked for in
 * their order, each once. */
static void check_requests(size_t begun)
{
	size_t open = begun - helper.answered;
	size_t most = helper.room < WITH_HELPER_MAX ? helper.room : WITH_HELPER_MAX;
	char name[16];

	assert_int_equal(helper.asked - helper.answered, open < most ? open : most);
	for (size_t i = 0; i < begun; i++)
		if (requests[i].is_pending)
			assert_true(os_clock_monotonic_us() - requests[i].began_us < patience_us);
	for (size_t i = 0; i < helper.asked; i++) {
		snprintf(name, sizeof name, "u%zu", i);
		assert_string_equal(helper.names[i], name);
	}
}

static void play_seed(uint64_t seed)
{
	struct intake_accounts *accounts;
	size_t begun = 0;

	fake_begin(seed);
	memset(&helper, 0, sizeof helper);
	helper.room = 1 + fake_random(40);
	accounts = intake_accounts_new(NULL, HELPER);
	for (size_t step = 0; step < STEPS; step++) {
		switch (fake_random(4)) {
		case 0:
			for (size_t i = fake_random(8); i > 0 && begun < REQUESTS; i--)
				ask(accounts, begun++);
			break;
		case 1:
			let_answer(fake_random(6));
			break;
		case 2:
			fake_advance((int64_t)fake_random(6) * SECOND_US / 2);
			break;
		default:
			if (begun > 0)
				cancel(&requests[fake_random((uint32_t)begun)]);
		}
		check_requests(begun);
	}
	fake_advance(patience_us);
	check_requests(begun);
	for (size_t i = 0; seed % 2 == 0 && i < REQUESTS; i++)
		let_answer(REQUESTS);
	if (seed % 2 == 0)
		assert_int_equal(helper.answered, begun); /* also for those who have gone */
	for (size_t i = 0; i < begun; i++)
		assert_false(requests[i].is_pending);
	intake_accounts_free(accounts);
	assert_int_equal(fake_timers(), 0);
}

static void each_is_told_once_what_is_right(void **state)
{
	(void)state;
	fake_seeds(300, play_seed);
}

/* One byte more is nobody's name, and the helper is not asked. */
static void a_name_has_its_bound(void **state)
{
	struct os_process_account account;
	char name[sizeof account.name + 1];
	struct intake_accounts *accounts;

	(void)state;
	fake_begin(1);
	memset(&helper, 0, sizeof helper);
	helper.room = 10;
	memset(name, 'n', sizeof name);
	accounts = intake_accounts_new(NULL, HELPER);
	for (size_t length = 0; length <= sizeof name; length++) {
		bool is_name = length > 0 && length < sizeof account.name;
		struct request *request = &requests[1]; /* there is none of number 1 */

		*request = (struct request){
			{.found = on_found, .context = request}, 1, os_clock_monotonic_us(), true};
		intake_accounts_find(accounts, str_slice(name, length), &request->request);
		assert_int_equal(request->is_pending, is_name);
		if (is_name) {
			assert_int_equal(strlen(helper.names[helper.asked - 1]), length);
			strcpy(helper.names[helper.asked - 1], "u1");
			let_answer(1);
		}
		assert_false(request->is_pending);
	}
	intake_accounts_free(accounts);
	intake_accounts_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_is_told_once_what_is_right, fake_tell_seed),
		cmocka_unit_test(a_name_has_its_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
