// SPDX-License-Identifier: ISC
#include "mail/deadline.h"
#include <stdio.h>

enum { DIGITS_MAX = 9 };

static bool parse_seconds(struct str text, int64_t *seconds_out)
{
	bool is_negative = text.length > 0 && text.data[0] == '-';
	bool has_sign = is_negative || (text.length > 0 && text.data[0] == '+');
	struct str digits = str_skip(text, has_sign ? 1 : 0);
	uint64_t seconds;

	if (digits.length > DIGITS_MAX || !str_to_u64(digits, &seconds))
		return false;
	*seconds_out = is_negative ? -(int64_t)seconds : (int64_t)seconds;
	return true;
}

static bool take_deadline_letter(struct str *letters, char lower)
{
	bool is_it = letters->length > 0 && (letters->data[0] | 0x20) == lower;

	if (is_it)
		*letters = str_skip(*letters, 1);
	return is_it;
}

static enum mail_deadline_mode take_deadline_mode(struct str *letters)
{
	if (take_deadline_letter(letters, 'n'))
		return MAIL_DEADLINE_NOTIFY;
	return take_deadline_letter(letters, 'r') ? MAIL_DEADLINE_RETURN : MAIL_DEADLINE_NONE;
}

bool mail_deadline_parse_by(struct str value, int64_t *seconds_out,
			    struct mail_deadline *deadline_out)
{
	struct mail_deadline deadline = {0};
	struct str time;

	if (!str_split(&value, ';', &time) || !parse_seconds(time, seconds_out))
		return false;
	deadline.mode = take_deadline_mode(&value);
	deadline.is_traced = take_deadline_letter(&value, 't');
	if (deadline.mode == MAIL_DEADLINE_NONE || value.length > 0)
		return false;
	*deadline_out = deadline;
	return true;
}

void mail_deadline_set(struct mail_deadline *deadline, int64_t seconds, int64_t now_us)
{
	int64_t at_us = now_us + seconds * SECOND_US;

	deadline->is_told = seconds <= 0;
	deadline->at_us = at_us > 0 ? (at_us + SECOND_US - 1) / SECOND_US * SECOND_US : 0;
}

bool mail_deadline_has_passed(const struct mail_deadline *deadline, int64_t now_us)
{
	return deadline->mode != MAIL_DEADLINE_NONE && deadline->at_us <= now_us;
}

static int64_t seconds_between(int64_t from_us, int64_t to_us)
{
	int64_t left = (to_us - from_us) / SECOND_US;

	if ((to_us - from_us) % SECOND_US < 0)
		left--;
	if (left > MAIL_DEADLINE_SECONDS_MAX)
		return MAIL_DEADLINE_SECONDS_MAX;
	return left < -MAIL_DEADLINE_SECONDS_MAX ? -MAIL_DEADLINE_SECONDS_MAX : left;
}

int64_t mail_deadline_left(const struct mail_deadline *deadline, int64_t born_us, int64_t now_us)
{
	return seconds_between(now_us > born_us ? now_us : born_us, deadline->at_us);
}

void mail_deadline_format(const struct mail_deadline *deadline, char text[MAIL_DEADLINE_SIZE])
{
	char at[TIMESTAMP_SIZE];

	timestamp_format_seconds(deadline->at_us, at);
	snprintf(text, MAIL_DEADLINE_SIZE, "%s;%c%s%s", at,
		 deadline->mode == MAIL_DEADLINE_RETURN ? 'r' : 'n', deadline->is_traced ? "t" : "",
		 deadline->is_told ? "d" : "");
}

bool mail_deadline_parse(struct str text, struct mail_deadline *deadline_out)
{
	struct mail_deadline deadline = {0};
	struct str at;

	if (!str_split(&text, ';', &at) || !timestamp_parse(at, &deadline.at_us) ||
	    deadline.at_us % SECOND_US != 0)
		return false;
	deadline.mode = take_deadline_mode(&text);
	deadline.is_traced = take_deadline_letter(&text, 't');
	deadline.is_told = take_deadline_letter(&text, 'd');
	if (deadline.mode == MAIL_DEADLINE_NONE || text.length > 0)
		return false;
	*deadline_out = deadline;
	return true;
}
