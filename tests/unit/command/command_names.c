// SPDX-License-Identifier: ISC
#include "command_names.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "queue/listing/listing.h"
#include "test.h"
#include "unit/queue/listing/listing_scene.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS_MAX = 30, BIRTH_DIGITS = 12 };

static const char *root;
static char loopback[20];   /* an address that no other test has */
static uint64_t places[32]; /* bytes in each */
static size_t place_count;

static int note_place(void *context, const struct listing_count *count)
{
	(void)context;
	assert_true(place_count < COUNT_OF(places));
	places[place_count++] = count->bytes;
	return 0;
}

void command_names_begin(const char *directory)
{
	int64_t oldest_us;
	pid_t pid = getpid();

	root = directory;
	snprintf(loopback, sizeof loopback, "127.%d.%d.%d", 1 + (pid >> 16) % 250, pid >> 8 & 0xff,
		 pid & 0xff);
	place_count = 0;
	assert_int_equal(listing_count(listing_scene_store, note_place, NULL, &oldest_us), 0);
}

/* In the files is also their number, which has as many digits as the file system likes. */
static bool is_size_of_place(uint64_t number)
{
	for (size_t i = 0; i < place_count; i++)
		if (number > 0 && number == places[i])
			return true;
	return false;
}

/* Of the oldest message, in seconds. */
static bool is_age(uint64_t number)
{
	uint64_t age = (uint64_t)((os_clock_wall_us() - listing_scene_born(0)) / SECOND_US);

	return number <= age && number + SECONDS_MAX > age;
}

static bool take_number(struct str *rest, struct buffer *out)
{
	size_t length = 0;
	uint64_t number = 0;

	while (length < rest->length && isdigit((unsigned char)rest->data[length]))
		length++;
	if (length == 0)
		return false;
	(void)!str_to_u64(str_slice(rest->data, length), &number);
	for (size_t i = 0; i < LISTING_SCENE_MESSAGES; i++)
		if (listing_scene_numbers[i] == number) {
			buffer_append_format(out, "M%zu", i);
			*rest = str_skip(*rest, length);
			return true;
		}
	if (is_age(number))
		buffer_append_string(out, "AGE");
	else if (is_size_of_place(number))
		buffer_append_string(out, "BYTES");
	else
		buffer_append(out, rest->data, length);
	*rest = str_skip(*rest, length);
	return true;
}

/* "10969277-66182cae86589", of a message that a command has queued: its birth has more digits. */
static bool take_new_id(struct str *rest, struct buffer *out)
{
	size_t dash = 0;
	size_t end;

	while (dash < rest->length && isdigit((unsigned char)rest->data[dash]))
		dash++;
	if (dash == 0 || dash == rest->length || rest->data[dash] != '-')
		return false;
	for (end = dash + 1; end < rest->length && isxdigit((unsigned char)rest->data[end]);)
		end++;
	if (end - dash - 1 < BIRTH_DIGITS)
		return false;
	buffer_append_string(out, "NEW");
	*rest = str_skip(*rest, end);
	return true;
}

/* "2026-11-30T18:39:29Z", with any fraction. */
static bool take_now(struct str *rest, struct buffer *out)
{
	char before[TIMESTAMP_SIZE], after[TIMESTAMP_SIZE];
	size_t length = strlen("2026-11-30T");

	timestamp_format(os_clock_wall_us() - SECONDS_MAX * SECOND_US, before);
	timestamp_format(os_clock_wall_us() + SECONDS_MAX * SECOND_US, after);
	if (!str_starts_with(*rest, str_slice(before, length)) &&
	    !str_starts_with(*rest, str_slice(after, length)))
		return false;
	while (length < rest->length && rest->data[length] != 'Z')
		length++;
	*rest = str_skip(*rest, length + 1);
	buffer_append_string(out, "NOW");
	return true;
}

/* "22:25:01.480", in a transcript. */
static bool take_time_of_day(struct str *rest, struct buffer *out)
{
	static const char form[] = "00:00:00.000 ";

	if (rest->length < strlen(form))
		return false;
	for (size_t i = 0; i < strlen(form); i++)
		if (form[i] == '0' ? !isdigit((unsigned char)rest->data[i])
				   : form[i] != rest->data[i])
			return false;
	buffer_append_string(out, "TIME ");
	*rest = str_skip(*rest, strlen(form));
	return true;
}

/* What follows these words is another in each run. */
static bool take_chance(struct str *rest, struct buffer *out)
{
	static const struct {
		const char *form, *name;
	} all[] = {
		{"sum: bcbc86f4 ", "SUM"}, /* of a control file, in which its message's number is */
		{"identity     ", "IDENTITY"},   {"MAINPID=", "PID"},
		{"memory-1+", "HASH"},          /* of the configuration, in which paths are */
		{"seconds      ", "SECONDS"},   /* for which a directory has run */
		{"connected    ", "CONNECTED"}, /* the last one may not have gone yet */
		{"\"connected\":", "CONNECTED"}, {"\"seconds\":", "SECONDS"},
		{"\"ttl_ms\":", "MS"},       /* what is left of it */
		{"\"session\":", "SESSION"}, /* of one of several processes */
	};

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		size_t length = strlen(all[i].form);

		if (!str_starts_with(*rest, str_from(all[i].form)))
			continue;
		while (length < rest->length && (isxdigit((unsigned char)rest->data[length]) ||
						 memchr("+-", rest->data[length], 2) != NULL))
			length++;
		if (length == strlen(all[i].form))
			continue;
		buffer_append_format(out, "%s%s", all[i].form, all[i].name);
		*rest = str_skip(*rest, length);
		return true;
	}
	return false;
}

/* "1796075109.M306906P20256Q2Ia7a215.mx.test", the name of a file in a mailbox, with the sum of its
 * message at the end. */
static bool take_copy(struct str *rest, struct buffer *out)
{
	static const char digits[] = "0123456789";
	size_t length = 0;

	while (length < rest->length && strchr(digits, rest->data[length]) != NULL)
		length++;
	if (length < 10 || !str_starts_with(str_skip(*rest, length), STR(".M")))
		return false;
	buffer_append_string(out, "COPY");
	while (length < rest->length && rest->data[length] != ',')
		length++;
	while (length < rest->length && !str_starts_with(str_skip(*rest, length), STR("I=")))
		buffer_append_byte(out, rest->data[length++]);
	for (length += length < rest->length ? 2 : 0;
	     length < rest->length && isxdigit((unsigned char)rest->data[length]);)
		length++;
	*rest = str_skip(*rest, length);
	return true;
}

/* "[4711]", a process in a line of a log. */
static bool take_process(struct str *rest, struct buffer *out)
{
	size_t length = 1;

	if (rest->data[0] != '[')
		return false;
	while (length < rest->length && isdigit((unsigned char)rest->data[length]))
		length++;
	if (length == 1 || length == rest->length || rest->data[length] != ']')
		return false;
	buffer_append_string(out, "[PID]");
	*rest = str_skip(*rest, length + 1);
	return true;
}

void command_names_append(struct str text, struct buffer *out)
{
	while (text.length > 0) {
		if (str_starts_with(text, str_from(root))) {
			buffer_append_byte(out, '@');
			text = str_skip(text, strlen(root));
		} else if (str_starts_with(text, str_from(loopback))) {
			buffer_append_string(out, "LOOPBACK");
			text = str_skip(text, strlen(loopback));
		} else if (!take_chance(&text, out) && !take_process(&text, out) &&
			   !take_now(&text, out) && !take_copy(&text, out) &&
			   !take_time_of_day(&text, out) && !take_new_id(&text, out) &&
			   !take_number(&text, out)) {
			buffer_append_string(out, text.data[0] == '\r' ? "<CR>" : "");
			if (text.data[0] != '\r')
				buffer_append_byte(out, text.data[0]);
			text = str_skip(text, 1);
		}
	}
}

void command_names_replace(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		bool is_number =
			text.data[i] == 'M' && i + 1 < text.length &&
			isdigit((unsigned char)text.data[i + 1]) &&
			(i == 0 || !isalnum((unsigned char)text.data[i - 1])) &&
			(i + 2 == text.length || !isalnum((unsigned char)text.data[i + 2]));

		if (is_number)
			buffer_append_number(out, listing_scene_numbers[text.data[++i] - '0']);
		else if (text.data[i] == '@' &&
			 (i == 0 || text.data[i - 1] == ' ' || text.data[i - 1] == '=' ||
			  text.data[i - 1] == '"' || text.data[i - 1] == ':'))
			buffer_append_string(out, root);
		else if (str_starts_with(str_skip(text, i), STR("LOOPBACK"))) {
			buffer_append_string(out, loopback);
			i += strlen("LOOPBACK") - 1;
		} else
			buffer_append_byte(out, text.data[i]);
	}
}
