// SPDX-License-Identifier: ISC
#include "base/str.h"
#include <string.h>

static unsigned char lower_of_byte(char byte)
{
	unsigned char c = (unsigned char)byte;

	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

bool str_equal_nocase(struct str a, struct str b)
{
	if (a.length != b.length)
		return false;
	for (size_t i = 0; i < a.length; i++)
		if (lower_of_byte(a.data[i]) != lower_of_byte(b.data[i]))
			return false;
	return true;
}

bool str_starts_with(struct str s, struct str prefix)
{
	return s.length >= prefix.length && str_equal(str_slice(s.data, prefix.length), prefix);
}

bool str_ends_with_nocase(struct str s, struct str suffix)
{
	return s.length >= suffix.length &&
	       str_equal_nocase(str_skip(s, s.length - suffix.length), suffix);
}

ptrdiff_t str_find(struct str s, char byte)
{
	const char *found = s.length > 0 ? memchr(s.data, byte, s.length) : NULL;

	return found != NULL ? found - s.data : -1;
}

ptrdiff_t str_find_last(struct str s, char byte)
{
	const char *found = s.length > 0 ? memrchr(s.data, byte, s.length) : NULL;

	return found != NULL ? found - s.data : -1;
}

struct str str_skip(struct str s, size_t count)
{
	if (count > s.length)
		count = s.length;
	return (struct str){count > 0 ? s.data + count : s.data, s.length - count};
}

/* By words: whole messages are looked at. */
bool str_is_ascii(struct str s)
{
	uint64_t all = 0;
	size_t i = 0;

	for (uint64_t word; i + sizeof word <= s.length; i += sizeof word) {
		memcpy(&word, s.data + i, sizeof word);
		all |= word;
	}
	for (; i < s.length; i++)
		all |= (unsigned char)s.data[i];
	return (all & 0x8080808080808080) == 0;
}

bool str_has_control(struct str s)
{
	for (size_t i = 0; i < s.length; i++)
		if ((unsigned char)s.data[i] < ' ' || s.data[i] == 0x7f)
			return true;
	return false;
}

bool str_is_digits(struct str s)
{
	for (size_t i = 0; i < s.length; i++)
		if (!str_is_digit(s.data[i]))
			return false;
	return s.length > 0;
}

static struct str trim_set(struct str s, const char *set)
{
	while (s.length > 0 && str_is_one_of(s.data[0], set))
		s = str_skip(s, 1);
	while (s.length > 0 && str_is_one_of(s.data[s.length - 1], set))
		s.length--;
	return s;
}

struct str str_trim(struct str s)
{
	return trim_set(s, " \t");
}

struct str str_trim_folds(struct str s)
{
	return trim_set(s, " \t\r\n");
}

bool str_split(struct str *s, char byte, struct str *piece_out)
{
	ptrdiff_t end;

	if (s->data == NULL)
		return false;
	end = str_find(*s, byte);
	if (end < 0) {
		*piece_out = *s;
		*s = (struct str){NULL, 0};
		return true;
	}
	*piece_out = str_slice(s->data, (size_t)end);
	*s = str_skip(*s, (size_t)end + 1);
	return true;
}

static int digit_value(char byte)
{
	unsigned char c = lower_of_byte(byte);

	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool to_number(struct str s, unsigned base, uint64_t *value_out)
{
	uint64_t value = 0;

	if (s.length == 0)
		return false;
	for (size_t i = 0; i < s.length; i++) {
		int digit = digit_value(s.data[i]);

		if (digit < 0 || (unsigned)digit >= base)
			return false;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (unsigned)digit, &value))
			return false;
	}
	*value_out = value;
	return true;
}

bool str_to_u64(struct str s, uint64_t *value_out)
{
	return to_number(s, 10, value_out);
}

bool str_to_u64_hex(struct str s, uint64_t *value_out)
{
	return to_number(s, 16, value_out);
}

void str_lower(char *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		data[i] = (char)lower_of_byte(data[i]);
}

size_t str_count_pieces(struct str s, char byte)
{
	size_t count = 0;
	struct str piece;

	while (str_split(&s, byte, &piece))
		count++;
	return count;
}
