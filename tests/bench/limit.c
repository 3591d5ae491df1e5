// SPDX-License-Identifier: ISC
/*
 * bench_limit - what it costs to ask for a place in a class of hosts.
 *
 * usage: bench_limit [CLASSES [ROWS [ROUNDS]]]
 *
 * Prints how many nanoseconds it takes to find the class of a host, to take a place there and give
 * it back, and to be refused, with so many classes (20) and processes that count (6). The host is
 * in the last class.
 */
#include "config/text.h"
#include "limit/count.h"
#include "os/clock.h"
#include "os/shared.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void print(const char *what, int64_t since_us, unsigned rounds)
{
	printf("%-24s %7.1f ns\n", what,
	       (double)(os_clock_monotonic_us() - since_us) * 1000 / rounds);
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
	int64_t since_us = os_clock_monotonic_us();

	for (unsigned i = 0; i < rounds; i++)
		class += limit_classes_find(classes, STR("mail17.customer.example.net"), &address);
	print("find the class", since_us, rounds);
	class /= rounds;
	since_us = os_clock_monotonic_us();
	for (unsigned i = 0; i < rounds; i++) {
		if (!limit_enter_in(counter, class))
			abort();
		limit_leave_in(counter, class);
	}
	print("take and give back", since_us, rounds);
	if (!limit_enter_in(counter, class))
		abort();
	since_us = os_clock_monotonic_us();
	for (unsigned i = 0; i < rounds; i++)
		if (limit_enter_in(counter, class))
			abort();
	print("be refused", since_us, rounds);
	return 0;
}
