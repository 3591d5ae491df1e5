// SPDX-License-Identifier: ISC
/*
 * log/field.h - the fields of a line: log/fields.def has each with its kind and its meaning, and
 * the rows of log/events.def say which fields an event may have.
 *
 * Both are checked when a call of log_event() is compiled: log_str(size, ...) fails, because size
 * is a NUMBER, and so does a field that the row of the event does not have.
 */
#ifndef LOG_FIELD_H
#define LOG_FIELD_H

#include "base/str.h"
#include "mail/envelope.h"

/* LOG_TEXT_from, LOG_NUMBER_size: the order of fields.def. */
enum log_key {
#define FIELD(name, kind, meaning) LOG_##kind##_##name,
#include "log/fields.def"
#undef FIELD
	LOG_KEY_COUNT,
};

/* struct EVENT_DELIVERED_row has a member for each field that the event may have. */
#define LOG_MEMBERS(...) __VA_OPT__(char __VA_ARGS__;)
#define EVENT(name, level, always, sometimes, meaning)             \
	struct EVENT_##name##_row {                                \
		LOG_MEMBERS always LOG_MEMBERS sometimes char end; \
	};
#include "log/events.def"
#undef EVENT
#undef LOG_MEMBERS

enum log_field_kind {
	LOG_END,  /* of the fields of a line */
	LOG_NONE, /* left out */
	LOG_TEXT,
	LOG_NUMBER,
	LOG_SECONDS,
	LOG_ID,
	LOG_SENDER,
};

struct log_field {
	enum log_field_kind kind;
	enum log_key key;
	union {
		struct str text; /* LOG_TEXT, LOG_SENDER */
		int64_t number;  /* LOG_SECONDS: microseconds */
		struct mail_id id;
	};
};

/* The fields that follow are of the event NAME. */
#define LOG_ROW(name) typedef struct name##_row log_row __attribute__((unused))
#define LOG_KEY(name, kind) \
	((enum log_key)(LOG_##kind##_##name + 0 * sizeof(((const log_row *)NULL)->name)))

/* What is empty is left out. */
#define log_str(name, value)    log_field_text(LOG_KEY(name, TEXT), value)
#define log_string(name, value) log_field_text(LOG_KEY(name, TEXT), str_from(value))
#define log_number(name, value) log_field_number(LOG_KEY(name, NUMBER), value)
/* Left out unless it is positive. */
#define log_positive(name, value) log_field_positive(LOG_KEY(name, NUMBER), value)
/* Of microseconds. */
#define log_seconds(name, value) log_field_seconds(LOG_KEY(name, SECONDS), value)
/* Nothing. */
#define log_none() ((struct log_field){LOG_NONE})
/* from=: empty for a bounce. */
#define log_from(value) log_field_sender(LOG_KEY(from, SENDER), value)
/* id=NUMBER-BIRTH; left out if its number is 0. */
#define log_id(...) log_field_id(LOG_KEY(id, ID), __VA_ARGS__)
/* error=TEXT of an errno; takes -errno, as our functions return it. */
#define log_error(value) log_string(error, log_error_text(value))

const char *log_error_text(int negative_errno);

static inline struct log_field log_field_text(enum log_key key, struct str text)
{
	return (struct log_field){text.length > 0 ? LOG_TEXT : LOG_NONE, key, .text = text};
}

static inline struct log_field log_field_sender(enum log_key key, struct str text)
{
	return (struct log_field){LOG_SENDER, key, .text = text};
}

static inline struct log_field log_field_number(enum log_key key, int64_t number)
{
	return (struct log_field){LOG_NUMBER, key, .number = number};
}

static inline struct log_field log_field_positive(enum log_key key, int64_t number)
{
	return (struct log_field){number > 0 ? LOG_NUMBER : LOG_NONE, key, .number = number};
}

static inline struct log_field log_field_seconds(enum log_key key, int64_t microseconds)
{
	return (struct log_field){LOG_SECONDS, key, .number = microseconds};
}

static inline struct log_field log_field_id(enum log_key key, struct mail_id id)
{
	return (struct log_field){id.number > 0 ? LOG_ID : LOG_NONE, key, .id = id};
}

#endif
