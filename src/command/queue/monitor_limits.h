// SPDX-License-Identifier: ISC
/*
 * command/queue/monitor_limits.h - the figures that monitoring can have of a queue, and
 * their limits: "messages=1000,oldest=2h".
 */
#ifndef COMMAND_QUEUE_MONITOR_LIMITS_H
#define COMMAND_QUEUE_MONITOR_LIMITS_H

#include "base/buffer.h"
#include <stdbool.h>
#include <stdint.h>

enum monitor_figure {
	MONITOR_MESSAGES,
	MONITOR_OLDEST,
	MONITOR_DEFERRED,
	MONITOR_PAUSED,
	MONITOR_DAMAGED,
	MONITOR_SET_ASIDE,
	MONITOR_FREE,
	MONITOR_FIGURES,
};

enum monitor_unit { MONITOR_COUNT, MONITOR_SECONDS, MONITOR_BYTES };

struct monitor_form {
	const char *name;
	enum monitor_unit unit;
	bool is_low; /* a limit is the least that is good; else what is reached is bad */
};
extern const struct monitor_form monitor_forms[MONITOR_FIGURES];

enum monitor_level { MONITOR_WARN, MONITOR_CRITICAL, MONITOR_LEVELS };

struct monitor_limits {
	uint64_t values[MONITOR_FIGURES][MONITOR_LEVELS];
	bool is_set[MONITOR_FIGURES][MONITOR_LEVELS];
};

/* Adds the limits of LEVEL in TEXT, which may be NULL. False: WHY says what is wrong. */
bool monitor_limits_parse(const char *text, enum monitor_level level, struct monitor_limits *limits,
			  struct buffer *why);
/* Whether VALUE has reached the limit of LEVEL. */
bool monitor_limits_reached(const struct monitor_limits *limits, enum monitor_figure figure,
			    enum monitor_level level, uint64_t value);

#endif
