// SPDX-License-Identifier: ISC
/*
 * bench_limit - what it costs to ask for a place in a class of hosts, and to be held to rates.
 *
 * usage: bench_limit [CLASSES [ROWS [ROUNDS]]]
 *
 * Prints how many nanoseconds it takes to find the class of a host, to take a place there and give
 * it back, and to be refused, with so many classes (20) and processes that count (6). The host is
 * in the last class. Then how long a look at rates takes: at six of them, of which four apply, for
 * the same client and for one of 100,000 networks each time, all of which each process has counted.
 *
 * On a busy machine count instructions instead:
 *   valgrind --tool=callgrind --toggle-collect=limit_rates_take bench_limit 20 6 100000
 */
#include "config/text.h"
#include "limit/count.h"
#include "limit/layout.h"
#include "limit/rate.h"
#include "os/clock.h"
#include "os/shared.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct limit_classes *classes_of(unsigned count)
{
	struct config_problems problems;
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct limit_classes *classes;
	struct config *config;

	buffer_append_string(&text, "hostname = mx.example.org\n");
	for (unsigned i = 1; i < count; i++)
		buffer_append_format(&text, "class \"*.c%u.example\" { queue = 8 refuse = 8 }\n",
				     i);
	buffer_append_string(&text, "class \"*\" { queue = 1000 refuse = 1 }\n");
	if (config_parse("bench", buffer_view(&text), &config, &problems) < 0)
		abort();
	classes = limit_classes_new(config);
	config_free(config);
	return classes;
}

static struct limit_memory *memory_of(unsigned rows)
{
	struct limit_layout layout = {.count = 0};
	struct limit_memory *memory;
	char name[LIMIT_NAME_SIZE];

	limit_layout_add(&layout, LIMIT_AREA_SESSIONS, limit_count_area_size(), true);
	memory = limit_memory_new(&layout);
	for (unsigned i = 0; i < rows; i++) {
		int row;

		snprintf(name, sizeof name, "smtpd.%u", i);
		row = limit_row_new(&layout, name);
		if (row < 0 || limit_memory_add(memory, name, row, true) < 0)
			abort();
	}
	return memory;
}

/* Others may run meanwhile: the time of the process counts. */
static void print(const char *what, clock_t since, unsigned rounds)
{
	printf("%-24s %7.1f ns\n", what, (double)(clock() - since) * 1e9 / CLOCKS_PER_SEC / rounds);
}

static const char rate_sections[] =
	"hostname = mx.example.org\n"
	"rate a { count = messages limit = 1T interval = 1h }\n"
	"rate b { count = messages per = sender_domain limit = 1T interval = 1h }\n"
	"rate c { count = messages per = all limit = 1T interval = 1m }\n"
	"rate d { count = messages limit = 1T interval = 1d }\n"
	"rate e { count = recipients limit = 1T interval = 1h }\n"
	"rate f { count = failed_logins limit = 1T interval = 1h }\n";

enum { NETWORKS = 100000 };

static void take(struct limit_rates *rates, unsigned number, int64_t now_us)
{
	struct in6_addr address = {.s6_addr = {[0] = 0x20, [1] = 1}};
	struct limit_subject subject = {.address = &address, .sender_domain = STR("example.net")};

	memcpy(&address.s6_addr[4], &number, sizeof number);
	if (limit_rates_take(rates, CONFIG_RATE_MESSAGES, &subject, 1, now_us).answer != LIMIT_PASS)
		abort();
}

/* The rates of ROWS processes, of which the last one is returned. All have counted so many
 * NETWORKS. */
static struct limit_rates *rates_of(unsigned rows, unsigned networks)
{
	struct config_problems problems;
	struct config *config;
	struct limit_layout layout;
	int descriptors[LIMIT_ROWS_MAX];
	struct limit_rates *rates = NULL;

	if (config_parse("bench", str_from(rate_sections), &config, &problems) < 0)
		abort();
	layout = limit_layout_of(config);
	for (unsigned row = 0; row < rows; row++)
		descriptors[row] = limit_row_new(&layout, "bench");
	for (unsigned row = 0; row < rows; row++) {
		struct limit_memory *memory = limit_memory_new(&layout);
		char name[LIMIT_NAME_SIZE];

		for (unsigned i = 0; i < rows; i++) {
			snprintf(name, sizeof name, "smtpd.%u", i);
			if (descriptors[i] < 0 ||
			    limit_memory_add(memory, name, descriptors[i], i == row) < 0)
				abort();
		}
		limit_rates_prepare(memory, row, (struct hash_key){1, 2});
		rates = limit_rates_new(memory, config);
		for (unsigned i = 0; i < networks; i++)
			take(rates, i, os_clock_monotonic_us());
	}
	return rates;
}

static void measure_rates(const char *what, struct limit_rates *rates, unsigned networks,
			  unsigned rounds)
{
	int64_t now_us = os_clock_monotonic_us();
	clock_t since = clock();

	for (unsigned i = 0; i < rounds; i++)
		take(rates, i % networks, now_us);
	print(what, since, rounds);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
	unsigned rows = argc > 2 ? (unsigned)atoi(argv[2]) : 6;
	unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 2000000;
	struct limit_classes *classes = classes_of(count);
	struct limit_counter *counter = limit_counter_new(memory_of(rows), classes);
	struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 192, [15] = 7}};
	size_t class = 0;
	clock_t since = clock();

	for (unsigned i = 0; i < rounds; i++)
		class += limit_classes_find(classes, STR("mail17.customer.example.net"), &address);
	print("find the class", since, rounds);
	class /= rounds;
	since = clock();
	for (unsigned i = 0; i < rounds; i++) {
		if (!limit_enter_in(counter, class))
			abort();
		limit_leave_in(counter, class);
	}
	print("take and give back", since, rounds);
	if (!limit_enter_in(counter, class))
		abort();
	since = clock();
	for (unsigned i = 0; i < rounds; i++)
		if (limit_enter_in(counter, class))
			abort();
	print("be refused", since, rounds);
	measure_rates("rates, one client", rates_of(rows, 1), 1, rounds);
	measure_rates("rates, 100,000 networks", rates_of(rows, NETWORKS), NETWORKS, rounds);
	return 0;
}
