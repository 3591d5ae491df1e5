// SPDX-License-Identifier: ISC
/* The cache of names against a model: any order of questions, answers, times and lost connections;
 * and as many clients as are kept, and one more. The connection is played. */
#include "base/panic.h"
#include "chance.h"
#include "dns/names/client.h"
#include "dns/names/protocol.h"
#include "fake_ipc_client.h"
#include "fake_loop.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 12, TURNS = 20000, REQUESTS_MAX = 4, NAME = 20 };

/* --- in the place of a connection --- */

static struct {
	struct in6_addr last; /* that was asked */
	unsigned questions;
	struct names *names;
} world;

/* With which tag a client of address_of() was asked about last; 0: it was not. */
static uint32_t tags[NAMES_KEPT_MAX + 1];

void ipc_client_when_connected(struct ipc_client *client, void (*call)(void *context),
			       void *context)
{
	assert_ptr_equal(client, &fake_ipc.client);
	call(context);
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct unpack unpack = {body, false};
	struct str address = unpack_str(&unpack);
	size_t client;

	assert_non_null(channel);
	assert_int_equal(type, NAMES_ASK);
	assert_int_equal(descriptor_count, 0);
	assert_null(descriptors);
	assert_true(unpack_is_whole(&unpack) && address.length == sizeof world.last);
	memcpy(&world.last, address.data, sizeof world.last);
	memcpy(&client, world.last.s6_addr + 8, sizeof client);
	if (client < COUNT_OF(tags))
		tags[client] = tag;
	world.questions++;
}

static struct in6_addr address_of(size_t client)
{
	struct in6_addr address = {.s6_addr = {0x20, 1}};

	memcpy(address.s6_addr + 8, &client, sizeof client);
	return address;
}

static void answer_with(uint16_t type, uint32_t tag, struct str address, bool is_temporary,
			uint32_t seconds, const char *name)
{
	struct ipc_message message = {.type = type, .tag = tag};
	struct buffer body = {0};

	pack_str(&body, address);
	pack_u32(&body, is_temporary);
	pack_u32(&body, seconds);
	pack_str(&body, str_from(name));
	message.body = buffer_view(&body);
	fake_ipc.client.handler.message(fake_ipc.client.context, &message);
	buffer_clear(&body);
}

static void answer(size_t client, bool is_temporary, uint32_t seconds, const char *name)
{
	struct in6_addr address = address_of(client);

	answer_with(NAMES_ANSWER, tags[client], str_slice((const char *)&address, sizeof address),
		    is_temporary, seconds, name);
}

/* --- the model --- */

struct request {
	struct names_request request;
	bool is_open, is_done, is_temporary;
	char name[NAME];
};

struct known {
	bool is_known, is_asked, is_late, is_temporary;
	int64_t until_us;
	char name[NAME];
};

static struct request requests[CLIENTS][REQUESTS_MAX];
static struct known model[CLIENTS];
static bool is_slow;

static void on_name(void *context, const char *name, bool is_temporary)
{
	struct request *request = context;

	assert_false(request->is_done);
	assert_false(names_request_is_open(&request->request));
	request->is_done = true;
	request->is_temporary = is_temporary;
	snprintf(request->name, NAME, "%s", name);
}

static void expect_done(struct request *request, const char *name, bool is_temporary)
{
	assert_true(request->is_done);
	assert_string_equal(request->name, name);
	assert_int_equal(request->is_temporary, is_temporary);
	request->is_open = request->is_done = false;
}

static void expect_all_done(size_t client, const char *name, bool is_temporary)
{
	for (size_t i = 0; i < REQUESTS_MAX; i++)
		if (requests[client][i].is_open)
			expect_done(&requests[client][i], name, is_temporary);
}

/* As its time has come. */
static void pass_time(int64_t us)
{
	fake_advance(us);
	for (size_t i = 0; i < CLIENTS; i++) {
		if (!model[i].is_asked || model[i].is_late ||
		    model[i].until_us > os_clock_boot_us())
			continue;
		model[i].is_late = is_slow = true;
		expect_all_done(i, "", true);
	}
}

static void ask_some(size_t client)
{
	struct in6_addr address = address_of(client);
	struct known *known = &model[client];
	bool is_valid = known->is_known && known->until_us > os_clock_boot_us();
	unsigned before = world.questions;
	struct request *request = requests[client];
	bool begins;

	while (request < requests[client] + REQUESTS_MAX && request->is_open)
		request++;
	if (request == requests[client] + REQUESTS_MAX)
		return;
	begins = !is_valid && !known->is_asked;
	request->request.done = on_name;
	request->request.context = request;
	request->is_open = true;
	names_ask(world.names, &address, &request->request);
	assert_int_equal(world.questions - before, begins && fake_ipc.is_connected);
	if (begins) {
		if (fake_ipc.is_connected)
			assert_memory_equal(&world.last, &address, sizeof address);
		*known = (struct known){.is_asked = true,
					.until_us = os_clock_boot_us() + NAMES_PATIENCE_US};
	}
	if (is_valid)
		expect_done(request, known->name, known->is_temporary);
	else if (known->is_late)
		expect_done(request, "", true);
	else
		assert_true(names_request_is_open(&request->request) && !request->is_done);
}

static int64_t kept_us(bool is_temporary, uint32_t seconds)
{
	int64_t us = seconds * SECOND_US;

	if (is_temporary)
		return MINUTE_US / 2;
	return us < MINUTE_US ? MINUTE_US : us > HOUR_US ? HOUR_US : us;
}

/* Without a connection nobody answers, and whoever is not asked is not answered. */
static void answer_some(size_t client)
{
	static const uint32_t times[] = {0, 59, 60, 61, 3599, 3600, 3601, UINT32_MAX};
	struct known *known = &model[client];
	uint32_t seconds = times[chance(COUNT_OF(times))];
	bool is_temporary = chance(3) == 0;
	char name[NAME] = "";

	if (!fake_ipc.is_connected || tags[client] == 0)
		return;
	if (!is_temporary && chance(3) > 0)
		snprintf(name, NAME, "host-%zu.test", chance(1000));
	answer(client, is_temporary, seconds, name);
	if (!known->is_asked)
		return;
	if (!known->is_late)
		is_slow = false;
	*known = (struct known){.is_known = true,
				.is_temporary = is_temporary,
				.until_us = os_clock_boot_us() + kept_us(is_temporary, seconds)};
	memcpy(known->name, name, NAME);
	expect_all_done(client, name, is_temporary);
}

/* All that are asked are asked again: what is late, too. */
static void connect_or_lose(void)
{
	unsigned before = world.questions;
	unsigned asked = 0;

	fake_ipc.is_connected = !fake_ipc.is_connected;
	if (!fake_ipc.is_connected) {
		fake_ipc.client.handler.lost(fake_ipc.client.context);
		return;
	}
	fake_ipc.client.handler.connected(fake_ipc.client.context);
	for (size_t i = 0; i < CLIENTS; i++)
		asked += model[i].is_asked;
	assert_int_equal(world.questions - before, asked);
}

static void cancel_some(size_t client)
{
	struct request *request = &requests[client][chance(REQUESTS_MAX)];

	names_request_cancel(&request->request);
	assert_false(names_request_is_open(&request->request));
	request->is_open = false;
}

static void do_something(size_t client)
{
	static const int64_t times_us[] = {SECOND_US,      2 * SECOND_US - 1, 1,
					   31 * SECOND_US, MINUTE_US,         HOUR_US};
	const size_t what = chance(20);

	if (what < 2)
		pass_time(times_us[chance(what == 0 ? COUNT_OF(times_us) : 3)]);
	else if (what == 2 && (!fake_ipc.is_connected || chance(3) == 0))
		connect_or_lose();
	else if (what < 5)
		cancel_some(client);
	else if (what < 10)
		answer_some(client);
	else
		ask_some(client);
}

static void any_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TURNS; i++) {
		do_something(chance(CLIENTS));
		assert_int_equal(names_are_slow(world.names), is_slow);
	}
	assert_int_equal(fake_ipc.refused, 0);
	for (size_t i = 0; i < CLIENTS; i++)
		for (size_t k = 0; k < REQUESTS_MAX; k++)
			names_request_cancel(&requests[i][k].request);
}

/* --- bounds --- */

static bool is_kept(size_t client)
{
	struct in6_addr address = address_of(client);
	struct request request = {.request = {.done = on_name, .context = &request}};
	unsigned before = world.questions;

	names_ask(world.names, &address, &request.request);
	if (world.questions > before)
		answer(client, false, 3600, "asked.test");
	else
		assert_string_equal(request.name, "first.test");
	return world.questions == before;
}

static void learn(size_t client)
{
	struct in6_addr address = address_of(client);
	struct request request = {.request = {.done = on_name, .context = &request}};

	names_ask(world.names, &address, &request.request);
	answer(client, false, 3600, "first.test");
	assert_true(request.is_done);
}

/* One more takes the place of the one that was used the longest time ago. */
static void the_latest_are_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < NAMES_KEPT_MAX; i++)
		learn(i);
	assert_true(is_kept(0)); /* which is used now */
	learn(NAMES_KEPT_MAX);
	assert_true(is_kept(0));
	assert_true(is_kept(2));
	assert_false(is_kept(1));
	assert_false(is_kept(3)); /* whose place that took */
}

static void questions_have_a_bound(void **state)
{
	static struct request many[NAMES_OPEN_MAX + 1];

	(void)state;
	for (size_t i = 0; i <= NAMES_OPEN_MAX; i++) {
		struct in6_addr address = address_of(i);

		many[i] = (struct request){.request = {.done = on_name, .context = &many[i]}};
		names_ask(world.names, &address, &many[i].request);
		assert_int_equal(many[i].is_done, i == NAMES_OPEN_MAX);
	}
	assert_true(many[NAMES_OPEN_MAX].is_temporary);
	answer(7, false, 60, "x.test");
	assert_true(many[7].is_done);
	many[7] = (struct request){.request = {.done = on_name, .context = &many[7]}};
	names_ask(world.names, &(struct in6_addr){{{0x20, [15] = 0xff}}}, &many[7].request);
	assert_false(many[7].is_done);
	for (size_t i = 0; i <= NAMES_OPEN_MAX; i++)
		names_request_cancel(&many[i].request);
}

static void what_is_no_answer_is_refused(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t tag;
		size_t address;
		const char *name;
		unsigned refused;
	} rows[] = {{NAMES_ANSWER, 1, 16, "mx.test", 1}, /* another one's name */
		    {NAMES_ANSWER, 9, 16, "mx.test", 0}, /* nobody's */
		    {NAMES_ANSWER, 9, 16, "", 0},        {NAMES_ANSWER, 0, 16, "", 1},
		    {NAMES_ASK, 9, 16, "mx.test", 1},    {NAMES_ANSWER, 9, 15, "mx.test", 1},
		    {NAMES_ANSWER, 9, 17, "mx.test", 1}, {NAMES_ANSWER, 9, 16, "mx test", 1},
		    {NAMES_ANSWER, 9, 16, "a..b", 1},    {3, 9, 16, "mx.test", 1}};
	struct in6_addr asked = address_of(1);
	struct request request = {.request = {.done = on_name, .context = &request}};
	char address[17] = {0};

	(void)state;
	names_ask(world.names, &asked, &request.request);
	assert_int_equal(tags[1], 1);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		fake_ipc.refused = 0;
		answer_with(rows[i].type, rows[i].tag, str_slice(address, rows[i].address), false,
			    1, rows[i].name);
		assert_int_equal(fake_ipc.refused, rows[i].refused);
	}
	assert_false(request.is_done);
	answer(1, false, 1, "mx.test");
	assert_true(request.is_done);
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	world.names = names_new(NULL, "the path");
	fake_ipc.is_connected = true;
	fake_ipc.refused = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	names_free(world.names);
	names_free(NULL);
	assert_int_equal(fake_timers(), 0);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order),
		CASE(the_latest_are_kept),
		CASE(questions_have_a_bound),
		CASE(what_is_no_answer_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
