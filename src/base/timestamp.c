// SPDX-License-Identifier: ISC
#include "base/timestamp.h"
#include <string.h>
#include <time.h>

/* The last second whose year has four digits. */
static const int64_t LAST_SECOND = INT64_C(253402300799);

static void split_timestamp(int64_t time_us, struct tm *tm_out, int64_t *fraction_out)
{
	int64_t seconds = time_us / SECOND_US;
	time_t unix_time;

	if (time_us < 0)
		seconds = 0;
	if (seconds > LAST_SECOND)
		seconds = LAST_SECOND;
	*fraction_out = time_us < 0 ? 0 : time_us % SECOND_US;
	unix_time = (time_t)seconds;
	gmtime_r(&unix_time, tm_out);
}

/* NUMBER, not negative, in so many DIGITS: the lowest ones. */
static void put_timestamp_number(char *text, size_t digits, int64_t number)
{
	while (digits > 0) {
		text[--digits] = (char)('0' + number % 10);
		number /= 10;
	}
}

/* "2026-11-20T08:33:11"; strftime() takes twice as long */
static void put_second(const struct tm *tm, char *text)
{
	memcpy(text, "0000-00-00T00:00:00", 19);
	put_timestamp_number(text, 4, tm->tm_year + 1900);
	put_timestamp_number(text + 5, 2, tm->tm_mon + 1);
	put_timestamp_number(text + 8, 2, tm->tm_mday);
	put_timestamp_number(text + 11, 2, tm->tm_hour);
	put_timestamp_number(text + 14, 2, tm->tm_min);
	put_timestamp_number(text + 17, 2, tm->tm_sec);
}

/* What follows the second: ".482913Z" */
static void put_fraction(int64_t fraction, char text[TIMESTAMP_SIZE])
{
	text[19] = '.';
	put_timestamp_number(text + 20, 6, fraction);
	text[26] = 'Z';
	text[27] = '\0';
}

void timestamp_format(int64_t time_us, char text[TIMESTAMP_SIZE])
{
	int64_t fraction;
	struct tm tm;

	split_timestamp(time_us, &tm, &fraction);
	put_second(&tm, text);
	put_fraction(fraction, text);
}

const char *timestamp_format_cached(int64_t time_us, struct timestamp_cache *cache)
{
	int64_t second = time_us / SECOND_US;

	if (time_us >= 0 && second == cache->second && cache->text[0] != '\0') {
		put_fraction(time_us % SECOND_US, cache->text);
	} else {
		timestamp_format(time_us, cache->text);
		cache->second = second;
	}
	return cache->text;
}

void timestamp_format_seconds(int64_t time_us, char text[TIMESTAMP_SIZE])
{
	int64_t fraction;
	struct tm tm;

	split_timestamp(time_us, &tm, &fraction);
	put_second(&tm, text);
	memcpy(text + 19, "Z", 2);
}

/* "Fri, 20 Nov 2026 08:33:11 +0000", in English whatever the locale is. */
void timestamp_format_header(int64_t time_us, char text[TIMESTAMP_HEADER_SIZE])
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int64_t fraction;
	struct tm tm;

	split_timestamp(time_us, &tm, &fraction);
	memcpy(text, "Sun, 00 Jan 0000 00:00:00 +0000", TIMESTAMP_HEADER_SIZE);
	memcpy(text, days + 3 * (size_t)tm.tm_wday, 3);
	put_timestamp_number(text + 5, 2, tm.tm_mday);
	memcpy(text + 8, months + 3 * (size_t)tm.tm_mon, 3);
	put_timestamp_number(text + 12, 4, tm.tm_year + 1900);
	put_timestamp_number(text + 17, 2, tm.tm_hour);
	put_timestamp_number(text + 20, 2, tm.tm_min);
	put_timestamp_number(text + 23, 2, tm.tm_sec);
}

static bool read_timestamp_number(struct str text, size_t position, size_t digits, int *value_out)
{
	uint64_t value;

	if (!str_to_u64(str_slice(text.data + position, digits), &value))
		return false;
	*value_out = (int)value;
	return true;
}

static bool punctuation_fits(struct str text)
{
	static const char pattern[] = "dddd-dd-ddTdd:dd:dd";

	for (size_t i = 0; i < sizeof pattern - 1; i++)
		if (pattern[i] != 'd' && pattern[i] != text.data[i])
			return false;
	return text.data[text.length - 1] == 'Z' && (text.length == 20 || text.data[19] == '.');
}

bool timestamp_parse(struct str text, int64_t *time_us_out)
{
	struct tm tm = {0};
	int fraction = 0;

	if ((text.length != 20 && text.length != 27) || !punctuation_fits(text))
		return false;
	if (!read_timestamp_number(text, 0, 4, &tm.tm_year) ||
	    !read_timestamp_number(text, 5, 2, &tm.tm_mon) ||
	    !read_timestamp_number(text, 8, 2, &tm.tm_mday) ||
	    !read_timestamp_number(text, 11, 2, &tm.tm_hour) ||
	    !read_timestamp_number(text, 14, 2, &tm.tm_min) ||
	    !read_timestamp_number(text, 17, 2, &tm.tm_sec))
		return false;
	if (text.length == 27 && !read_timestamp_number(text, 20, 6, &fraction))
		return false;
	if (tm.tm_year < 1970 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
	    tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	*time_us_out = (int64_t)timegm(&tm) * SECOND_US + fraction;
	return true;
}

/* "Z" or "+01:00", in seconds. */
static bool parse_offset(struct str text, int64_t *seconds_out)
{
	int hours;
	int minutes;

	*seconds_out = 0;
	if (str_equal_nocase(text, STR("Z")))
		return true;
	if (text.length != 6 || (text.data[0] != '+' && text.data[0] != '-') ||
	    text.data[3] != ':' || !read_timestamp_number(text, 1, 2, &hours) ||
	    !read_timestamp_number(text, 4, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*seconds_out = (hours * 60 + minutes) * (text.data[0] == '-' ? -60 : 60);
	return true;
}

/* What follows the seconds. */
static bool skip_fraction(struct str *text)
{
	size_t length = 1;

	if (text->length == 0 || text->data[0] != '.')
		return true;
	while (length < text->length && text->data[length] >= '0' && text->data[length] <= '9')
		length++;
	*text = str_skip(*text, length);
	return length > 1;
}

bool timestamp_parse_rfc3339(struct str text, int64_t *time_us_out)
{
	enum { SECONDS_END = 19 };
	char whole[TIMESTAMP_SIZE];
	char again[TIMESTAMP_SIZE];
	int64_t offset;
	int64_t time_us;

	if (text.length <= SECONDS_END)
		return false;
	memcpy(whole, text.data, SECONDS_END);
	memcpy(whole + SECONDS_END, "Z", sizeof "Z");
	whole[10] = whole[10] == 't' ? 'T' : whole[10];
	text = str_skip(text, SECONDS_END);
	if (!skip_fraction(&text) || !parse_offset(text, &offset) ||
	    !timestamp_parse(str_from(whole), &time_us))
		return false;
	timestamp_format_seconds(time_us, again);
	if (strcmp(again, whole) != 0) /* the 31st of February */
		return false;
	*time_us_out = time_us - offset * SECOND_US;
	return *time_us_out >= 0;
}

int64_t timestamp_until_round_us(int64_t now_us, int64_t interval_us)
{
	return interval_us - now_us % interval_us;
}
