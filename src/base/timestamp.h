// SPDX-License-Identifier: ISC
/*
 * base/timestamp.h - times as text.
 *
 * A time is an int64_t: microseconds since 1970-01-01T00:00:00Z; its name ends
 * in _us. Durations have the same type and unit.
 */
#ifndef BASE_TIMESTAMP_H
#define BASE_TIMESTAMP_H

#include "base/str.h"

#define SECOND_US INT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US   (60 * MINUTE_US)
#define DAY_US    (24 * HOUR_US)

/* From NOW_US, of the monotonic clock, until that is next a multiple of INTERVAL_US: what many
 * processes do once in a while then wakes an idle machine once. */
int64_t timestamp_until_round_us(int64_t now_us, int64_t interval_us);

enum {
	TIMESTAMP_SIZE = 28,        /* 2026-11-20T08:33:11.482913Z and a NUL */
	TIMESTAMP_HEADER_SIZE = 32, /* Fri, 20 Nov 2026 08:33:11 +0000 and a NUL */
};

/* RFC 3339 in UTC, with microseconds or with whole seconds. */
void timestamp_format(int64_t time_us, char text[TIMESTAMP_SIZE]);
void timestamp_format_seconds(int64_t time_us, char text[TIMESTAMP_SIZE]);
/* Like timestamp_format(), but faster for times close to each other: if CACHE has the same second,
 * only the fraction is written. CACHE is zeroed at first, and holds the result. */
struct timestamp_cache {
	int64_t second;
	char text[TIMESTAMP_SIZE];
};
const char *timestamp_format_cached(int64_t time_us, struct timestamp_cache *cache);
/* The date of a mail header, RFC 5322 section 3.3, in UTC. */
void timestamp_format_header(int64_t time_us, char text[TIMESTAMP_HEADER_SIZE]);

/* Parses the output of timestamp_format() or timestamp_format_seconds(). */
bool timestamp_parse(struct str text, int64_t *time_us_out);
/* Parses any date-time of RFC 3339 section 5.6 from 1970 on, "2026-11-20T09:33:11.5+01:00", but no
 * leap second; a fraction is dropped. */
bool timestamp_parse_rfc3339(struct str text, int64_t *time_us_out);

#endif
