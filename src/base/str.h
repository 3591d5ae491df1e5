// SPDX-License-Identifier: ISC
/*
 * base/str.h - a view of bytes that somebody else owns.
 *
 * Does not end with a NUL, and may contain any byte. Passed by value.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *data;
	size_t length;
};

/* For printf: STR_FORMAT with STR_ARGUMENTS(s). */
#define STR_FORMAT       "%.*s"
#define STR_ARGUMENTS(s) (int)(s).length, (s).data

/* A view of a string literal. */
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

static inline struct str str_from(const char *string)
{
	return (struct str){string, strlen(string)};
}

static inline struct str str_slice(const char *data, size_t length)
{
	return (struct str){data, length};
}

static inline bool str_equal(struct str a, struct str b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* --- bytes --- */

static inline bool str_is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static inline bool str_is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Whether BYTE is one of SET, without its NUL. */
static inline bool str_is_one_of(char byte, const char *set)
{
	return byte != '\0' && strchr(set, byte) != NULL;
}

/* --- texts --- */

/* Whether no byte is above 127. */
bool str_is_ascii(struct str s);
/* Whether a byte is a control character of ASCII, a tab included. */
bool str_has_control(struct str s);
/* Whether S is decimal digits, at least one. */
bool str_is_digits(struct str s);

/* Ignores the case of A-Z and a-z; other bytes must be equal. */
bool str_equal_nocase(struct str a, struct str b);
bool str_starts_with(struct str s, struct str prefix);
bool str_ends_with_nocase(struct str s, struct str suffix);

/* The position of the first or last BYTE, or -1. */
ptrdiff_t str_find(struct str s, char byte);
ptrdiff_t str_find_last(struct str s, char byte);

/* S without its first COUNT bytes, or empty if there are fewer. */
struct str str_skip(struct str s, size_t count);
/* S without spaces and tabs at both ends. */
struct str str_trim(struct str s);
/* Likewise, also without the line ends of a field that is folded. */
struct str str_trim_folds(struct str s);

/* Moves the text before the first BYTE from *S to *PIECE_OUT, and removes that byte. Without a BYTE
 * the piece is all that is left, and S becomes one without data, which tells it from text that ends
 * with BYTE. False, and no piece: S had no data. */
bool str_split(struct str *s, char byte, struct str *piece_out);

/* How many pieces that yields. */
size_t str_count_pieces(struct str s, char byte);

/* Parses all of S as an unsigned decimal (or hexadecimal) number; false if it
 * is empty, has any other byte, or is too large. */
bool str_to_u64(struct str s, uint64_t *value_out);
bool str_to_u64_hex(struct str s, uint64_t *value_out);

/* ASCII letters of DATA to lower case, in place. */
void str_lower(char *data, size_t length);

#endif
