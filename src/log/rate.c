// SPDX-License-Identifier: ISC
/* Limits lines whose frequency outsiders control. */
#include "base/timestamp.h"
#include "log/internal.h"
#include "os/clock.h"

static const int64_t TELL_US = 10 * SECOND_US;

static struct {
	int64_t full_us; /* when the full burst is available again; monotonic */
	int64_t told_us; /* when withheld lines were last reported */
	int64_t withheld;
} rates[EVENT_COUNT];

static int64_t withheld; /* of all */

int64_t log_rate_withheld(bool is_end, enum log_name *name_out)
{
	int64_t at_us = withheld > 0 ? os_clock_monotonic_us() : 0;

	for (unsigned name = 0; withheld > 0 && name < EVENT_COUNT; name++) {
		int64_t count = rates[name].withheld;

		if (count == 0 || (!is_end && at_us - rates[name].told_us < TELL_US))
			continue;
		withheld -= count;
		rates[name].withheld = 0;
		rates[name].told_us = at_us;
		*name_out = (enum log_name)name;
		return count;
	}
	return 0;
}

bool log_rate_passes(enum log_name name)
{
	int64_t at_us = os_clock_monotonic_us();

	if (rates[name].full_us < at_us)
		rates[name].full_us = at_us;
	if (rates[name].full_us - at_us > (LOG_RATE_BURST - 1) * SECOND_US) {
		if (rates[name].withheld == 0 && rates[name].told_us < at_us - TELL_US)
			rates[name].told_us = at_us; /* the first report also comes after ten
						      * seconds */
		rates[name].withheld++;
		withheld++;
		return false;
	}
	rates[name].full_us += SECOND_US;
	return true;
}
