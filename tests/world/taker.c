// SPDX-License-Identifier: ISC
/* The program of a pipe service: it takes a message for the recipient that is its argument. */
#include "description.h"
#include "inside.h"
#include "mail.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

enum { DONE = 0, STRANGE = 99, FAILED = 100, LATER = 111, BLOCK = 4096 };

static const int64_t SLOW_US = 90 * INT64_C(1000000); /* longer than it may run */

static int64_t odd_until_us;

void taker_be_odd(int64_t until_us)
{
	odd_until_us = until_us;
}

static bool is_odd(uint64_t odds)
{
	return kernel_now_us() < odd_until_us && kernel_one_in(odds);
}

/* Standard input, up to its end or until MOST bytes have come. */
static char *read_input(size_t most, size_t *size_out)
{
	char *text = world_malloc(1);
	size_t used = 0;
	ssize_t count = 1;

	while (count != 0 && used < most) {
		text = world_realloc(text, used + BLOCK + 1);
		count = os_stream_read(0, text + used, BLOCK);
		if (count == -EAGAIN)
			(void)table_wait(0, OS_WATCH_READ, -1);
		if (count > 0)
			used += (size_t)count;
		if (count < 0 && count != -EAGAIN)
			break;
	}
	text[used] = '\0';
	*size_out = used;
	return text;
}

static int take(const char *recipient)
{
	size_t size;
	char *text = read_input(SIZE_MAX, &size);

	if (is_odd(12))
		world_sleep_us((int64_t)kernel_below((uint64_t)SLOW_US));
	if (is_odd(12))
		return LATER;
	if (is_odd(12))
		process_leave(SIGKILL);
	ledger_deliver(recipient, text, size);
	return DONE;
}

/* It may know enough after the first bytes. */
static int take_beginning(const char *recipient)
{
	size_t size;
	char *text = read_input(1, &size);

	if (!is_odd(2) && strstr(text, "\nX-World: ") != NULL) {
		ledger_take(recipient, text);
		return DONE;
	}
	return is_odd(2) ? STRANGE : LATER;
}

static int run_taker(int argc, char **argv)
{
	const char *recipient = argv[argc - 1];

	if (is_odd(12))
		world_sleep_us((int64_t)kernel_below((uint64_t)SLOW_US));
	if (is_odd(12))
		process_leave(SIGSEGV);
	if (strncmp(recipient, HOP_REFUSED, strlen(HOP_REFUSED)) == 0 ||
	    strncmp(recipient, HOP_NEVER, strlen(HOP_NEVER)) == 0)
		return is_odd(4) ? LATER : FAILED;
	return is_odd(4) ? take_beginning(recipient) : take(recipient);
}

void taker_add_program(void)
{
	static const struct world_program program = {"taker", run_taker, NULL};

	world_add_program(&program);
}
