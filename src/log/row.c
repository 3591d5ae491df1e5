// SPDX-License-Identifier: ISC
/* The tables of events and fields as data. No other code is here, because the names of the fields
 * are constants in this file, as the rows of the events have them. */
#include "base/panic.h"
#include "log/internal.h"

enum {
#define FIELD(name, kind, meaning) name,
#include "log/fields.def"
#undef FIELD
};

_Static_assert(LOG_KEY_COUNT <= UINT8_MAX, "a field is a byte");

const struct log_field_row log_field_rows[LOG_KEY_COUNT] = {
#define FIELD(name, kind, meaning) {STR(#name), STR(" " #name "="), meaning, LOG_##kind},
#include "log/fields.def"
#undef FIELD
};

#define LIST(...)                                        \
	(const unsigned char[])                          \
	{                                                \
		__VA_ARGS__ __VA_OPT__(, ) LOG_KEY_COUNT \
	}

const struct log_event_row log_event_rows[EVENT_COUNT] = {
#define EVENT(name, level, always, sometimes, meaning) \
	{#name, meaning, LOG_##level##_LEVEL, LIST always, LIST sometimes},
#include "log/events.def"
#undef EVENT
};
