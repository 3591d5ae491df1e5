// SPDX-License-Identifier: ISC
/* Whether a name server answers: servers that do, refuse, say something else or nothing, in any
 * order, for questions that come, share an answer and are given up; against a model. */
#include "base/timestamp.h"
#include "dns/reach.h"
#include "fake_loop.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SERVERS = 8, QUESTIONS = 5, SEEDS = 400, STEPS = 60 };

/* --- the network, and the file --- */

static struct {
	const char *file; /* /etc/resolv.conf; NULL: none */
	int sockets[SERVERS + 2];
	union os_socket_address addresses[SERVERS + 2];
	size_t count;     /* connected since it was cleared */
	unsigned refused; /* bits: these cannot be connected */
	unsigned deaf;    /* nor these be written to */
	int refusing;     /* this one reads an error, */
	bool is_empty;    /* or a datagram without a byte */
} net;

int __wrap_os_socket_connect_udp(const union os_socket_address *address);
int __wrap_os_socket_connect_udp(const union os_socket_address *address)
{
	size_t i = net.count++;

	assert_true(i < SERVERS + 2);
	net.addresses[i] = *address;
	net.sockets[i] = -1;
	if ((net.refused & 1U << i) != 0)
		return -ENETUNREACH;
	net.sockets[i] = fake_connect(100, 100);
	if ((net.deaf & 1U << i) != 0)
		fake_peer_close(net.sockets[i]);
	return net.sockets[i];
}

ssize_t __real_os_socket_read(int socket, void *bytes, size_t size);
ssize_t __wrap_os_socket_read(int socket, void *bytes, size_t size);
ssize_t __wrap_os_socket_read(int socket, void *bytes, size_t size)
{
	if (socket == net.refusing)
		return net.is_empty ? 0 : -ECONNREFUSED;
	return __real_os_socket_read(socket, bytes, size);
}

int __wrap_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags)
{
	assert_int_equal(directory, OS_FILE_HERE);
	assert_string_equal(path, "/etc/resolv.conf");
	assert_int_equal(flags, OS_FILE_READ | OS_FILE_NO_BLOCK);
	return net.file != NULL ? 77 : -ENOENT;
}

ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset);
ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	size_t length = strlen(net.file);

	assert_int_equal(file, 77);
	assert_int_equal(offset, 0);
	memcpy(data, net.file, length < size ? length : size);
	return (ssize_t)(length < size ? length : size);
}

static unsigned closed_files;

void __wrap_os_file_close(int file);
void __wrap_os_file_close(int file)
{
	assert_int_equal(file, 77);
	closed_files++;
}

/* --- which servers --- */

static void on_any_reach(void *context, bool is_reached)
{
	(void)is_reached;
	++*(unsigned *)context;
}

/* Those that are asked, as text; and what each is asked. */
static void check_servers(const char *server, const char *expected)
{
	unsigned done = 0;
	char said[1000] = "";
	struct dns_reach *reach;
	struct dns_reach_question *question;

	memset(net.sockets, 0, sizeof net.sockets);
	net.count = 0;
	net.refused = net.deaf = 0;
	reach = dns_reach_new(NULL, server);
	question = dns_reach_ask(reach, on_any_reach, &done);
	for (size_t i = 0; i < net.count; i++) {
		static const unsigned char root[] = {1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1};
		char text[OS_SOCKET_TEXT_SIZE], query[50];

		os_socket_address_format(&net.addresses[i], text);
		snprintf(said + strlen(said), sizeof said - strlen(said), "%s ", text);
		assert_int_equal(fake_peer_read(net.sockets[i], query, sizeof query), 17);
		assert_memory_equal(query + 2, root, sizeof root);
	}
	assert_string_equal(said, expected);
	assert_int_equal(done, 0);
	dns_reach_cancel(question);
	dns_reach_free(reach);
	for (size_t i = 0; i < net.count; i++)
		assert_true(fake_is_closed(net.sockets[i]));
	assert_int_equal(fake_timers(), 0);
}

static void which_servers_are_asked(void **state)
{
	static const struct {
		const char *server, *file, *expected;
	} rows[] = {
		{"192.0.2.1", NULL, "192.0.2.1:53 "},
		{"192.0.2.1@5353", NULL, "192.0.2.1:5353 "},
		{"192.0.2.1@65535", NULL, "192.0.2.1:65535 "},
		{"192.0.2.1@65536", NULL, ""},
		{"192.0.2.1@x", NULL, ""},
		{"2001:db8::1@54", NULL, "[2001:db8::1]:54 "},
		{"name", NULL, ""},
		{"1111111111111111111111111111111111111111111111111111111111111111111111111", NULL,
		 ""},
		{"", NULL, "127.0.0.1:53 "},
		{"", "", "127.0.0.1:53 "},
		{"", "search x\n", "127.0.0.1:53 "},
		{"", "# nameserver 192.0.2.9\nnameserver 192.0.2.1\n  nameserver\t::1  \nname x\n",
		 "192.0.2.1:53 [::1]:53 "},
		{"", "nameserver 192.0.2.1@53\nnameserver fe80::1%eth0\nnameserver 192.0.2.2",
		 "192.0.2.1:53 192.0.2.2:53 "},
		{"",
		 "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver "
		 "192.0.2.4\nnameserver 192.0.2.5\nnameserver 192.0.2.6\nnameserver "
		 "192.0.2.7\nnameserver 192.0.2.8\nnameserver 192.0.2.9\n",
		 "192.0.2.1:53 192.0.2.2:53 192.0.2.3:53 192.0.2.4:53 192.0.2.5:53 192.0.2.6:53 "
		 "192.0.2.7:53 192.0.2.8:53 "},
	};

	(void)state;
	fake_begin(1);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		net.file = rows[i].file;
		closed_files = 0;
		check_servers(rows[i].server, rows[i].expected);
		assert_int_equal(closed_files, rows[i].file != NULL);
	}
	dns_reach_free(NULL);
	dns_reach_cancel(NULL);
}

/* --- the model --- */

static struct {
	struct dns_reach *reach;
	struct dns_reach_question *questions[QUESTIONS];
	bool asks_again[QUESTIONS]; /* within its answer */
	unsigned done;
	size_t servers;
	/* what is known without it */
	bool is_asking;
	bool is_open[SERVERS]; /* it may still answer */
	char number[2];
	bool is_decided; /* and will be said at once */
	bool is_reached;
	int64_t until_us;       /* remembered */
	int64_t asked_until_us; /* waited for */
} model;

static void begin_question(size_t i);

static void on_reach(void *context, bool is_reached)
{
	size_t i = (size_t)(uintptr_t)context;

	assert_true(model.is_decided);
	assert_int_equal(is_reached, model.is_reached);
	model.questions[i] = NULL;
	model.done++;
	if (model.asks_again[i])
		begin_question(i);
}

static void decide(bool is_reached)
{
	model.is_asking = false;
	model.is_decided = true;
	model.is_reached = is_reached;
	model.until_us = os_clock_monotonic_us() + 5 * SECOND_US;
}

static bool is_any_open(void)
{
	for (size_t i = 0; i < model.servers; i++)
		if (model.is_open[i])
			return true;
	return false;
}

/* Those who are asked have the same number. */
static void expect_new_questions(void)
{
	assert_int_equal(net.count, model.servers);
	model.is_asking = true;
	model.is_decided = false;
	model.asked_until_us = os_clock_monotonic_us();
	for (size_t i = 0; i < model.servers; i++) {
		char query[50];

		model.is_open[i] = ((net.refused | net.deaf) & 1U << i) == 0;
		if (net.sockets[i] >= 0 && !model.is_open[i])
			assert_true(fake_is_closed(net.sockets[i]));
		if (!model.is_open[i])
			continue;
		assert_int_equal(fake_peer_read(net.sockets[i], query, sizeof query), 17);
		memcpy(model.number, query, 2);
		model.asked_until_us = os_clock_monotonic_us() + 2 * SECOND_US;
	}
}

static void begin_question(size_t i)
{
	unsigned done = model.done;
	bool is_new = !model.is_asking && os_clock_monotonic_us() >= model.until_us;

	net.count = 0;
	net.refused = fake_random(4) == 0 ? fake_random(1 << SERVERS) : 0;
	net.deaf = fake_random(4) == 0 ? fake_random(1 << SERVERS) : 0;
	model.asks_again[i] = fake_random(6) == 0;
	model.questions[i] = dns_reach_ask(model.reach, on_reach, (void *)(uintptr_t)i);
	assert_int_equal(model.done, done);
	if (is_new)
		expect_new_questions();
	else
		assert_int_equal(net.count, 0);
}

/* Something comes from a server that is waited for. */
static void answer_from_server(void)
{
	char answer[20] = {0};
	size_t i = fake_random((uint32_t)model.servers), length = 12;
	unsigned what = fake_random(6);

	if (!model.is_asking || !model.is_open[i])
		return;
	memcpy(answer, model.number, 2);
	if (what == 0)
		answer[fake_random(2)] ^= 1;
	if (what == 1)
		length = 11;
	if (what == 2) {
		net.refusing = net.sockets[i];
		net.is_empty = fake_random(3) == 0;
		model.is_open[i] = net.is_empty;
	} else if (what > 3 || what < 2) {
		assert_int_equal(fake_peer_write(net.sockets[i], answer, length), length);
	}
	if (what > 3)
		decide(true);
	else if (!is_any_open())
		decide(false);
	fake_play_watch(net.sockets[i]); /* also if nothing has come (3) */
	net.refusing = -1;
	for (size_t n = 0; n < model.servers; n++)
		if (net.sockets[n] >= 0 && !model.is_asking)
			assert_true(fake_is_closed(net.sockets[n]));
	if (what == 2 && model.is_asking)
		assert_int_equal(fake_is_closed(net.sockets[i]), !net.is_empty);
}

static size_t count_questions(void)
{
	size_t count = 0;

	for (size_t i = 0; i < QUESTIONS; i++)
		count += model.questions[i] != NULL;
	return count;
}

/* A part of a second, or long; the moment at which nobody answers is looked at by itself. */
static void let_time_pass(void)
{
	int64_t left_us = model.asked_until_us - os_clock_monotonic_us();
	int64_t us = (int64_t)fake_random(3) * fake_random(3000) * 1000;

	if (model.is_asking && us >= left_us) {
		if (left_us > 0)
			fake_advance(left_us - 1);
		us = left_us > 0 ? 1 : 0;
		decide(false);
		model.until_us += us;
	}
	fake_advance(us);
	if (!model.is_asking)
		assert_int_equal(count_questions(), 0);
}

static void any_servers(uint64_t seed)
{
	static char text[SERVERS * 30];

	fake_begin(seed);
	net.refusing = -1;
	memset(&model, 0, sizeof model);
	model.servers = 1 + fake_random(SERVERS);
	text[0] = '\0';
	for (size_t i = 0; i < model.servers; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text),
			 "nameserver 192.0.2.%zu\n", i + 1);
	net.file = text;
	model.reach = dns_reach_new(NULL, "");
	for (unsigned step = 0; step < STEPS; step++) {
		size_t i = fake_random(QUESTIONS);

		switch (fake_random(4)) {
		case 0:
			if (model.questions[i] == NULL)
				begin_question(i);
			break;
		case 1:
			if (fake_random(4) == 0) {
				dns_reach_cancel(model.questions[i]);
				model.questions[i] = NULL;
			}
			break;
		case 2:
			answer_from_server();
			break;
		default:
			let_time_pass();
		}
	}
	for (size_t i = 0; i < QUESTIONS; i++)
		dns_reach_cancel(model.questions[i]);
	dns_reach_free(model.reach);
	assert_int_equal(fake_timers(), 0);
}

static void any_servers_in_any_order(void **state)
{
	(void)state;
	fake_seeds(SEEDS, any_servers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_servers_are_asked),
		cmocka_unit_test_teardown(any_servers_in_any_order, fake_tell_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
