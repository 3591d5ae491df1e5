// SPDX-License-Identifier: ISC
/* Lines that somebody else decides how often they come. */
#include "base/timestamp.h"
#include "log/event.h"
#include "log/internal.h"
#include <time.h>

static const int64_t TELL_US = 10 * SECOND_US;

static struct {
	int64_t full_us; /* when the burst is whole again; monotonic */
	int64_t told_us; /* when it was said last how many were withheld */
	int64_t withheld;
} rates[EVENT_COUNT];

static int64_t withheld; /* of all */

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

static void tell(enum log_name name, int64_t at_us)
{
	log_event(EVENT_LOG_WITHHELD, log_string("of", log_event_name(name)),
		  log_number("lines", rates[name].withheld));
	withheld -= rates[name].withheld;
	rates[name].withheld = 0;
	rates[name].told_us = at_us;
}

void log_rate_tell(bool is_end)
{
	int64_t at_us = withheld > 0 ? now_us() : 0;

	for (unsigned name = 0; withheld > 0 && name < EVENT_COUNT; name++)
		if (rates[name].withheld > 0 && (is_end || at_us - rates[name].told_us >= TELL_US))
			tell((enum log_name)name, at_us);
}

void log_write_rated(enum log_name name, const struct log_field *fields)
{
	int64_t at_us = now_us();

	if (rates[name].full_us < at_us)
		rates[name].full_us = at_us;
	if (rates[name].full_us - at_us > (LOG_RATE_BURST - 1) * SECOND_US) {
		if (rates[name].withheld == 0 && rates[name].told_us < at_us - TELL_US)
			rates[name].told_us = at_us; /* the first count has its ten seconds, too */
		rates[name].withheld++;
		withheld++;
		log_rate_tell(false);
		return;
	}
	rates[name].full_us += SECOND_US;
	log_write(name, fields);
}
