// SPDX-License-Identifier: ISC
#include "directory/record/key.h"
#include "base/text/quote.h"
#include "base/text/utf8.h"
#include "mail/address.h"
#include "mail/unicode.h"
#include <errno.h>
#include <string.h>

enum {
	DOMAIN_MAX =
		253, /* RFC 1035: 255 octets with the lengths of the first label and the root */
	UNQUOTED_MAX = 2 * MAIL_LOCAL_LONG_MAX + 2, /* bytes before normalization, which may
						     * shorten it */
};

/* Classes of bytes in local parts and domains. */
enum {
	ATOM = 1 << 0,  /* atext, RFC 5322 section 3.2.3 */
	LABEL = 1 << 1, /* letter, digit, '-', '_' */
};

static const unsigned char CLASS[128] = {
	['!'] = ATOM,
	['#'] = ATOM,
	['$'] = ATOM,
	['%'] = ATOM,
	['&'] = ATOM,
	['\''] = ATOM,
	['*'] = ATOM,
	['+'] = ATOM,
	['/'] = ATOM,
	['='] = ATOM,
	['?'] = ATOM,
	['^'] = ATOM,
	['`'] = ATOM,
	['{'] = ATOM,
	['|'] = ATOM,
	['}'] = ATOM,
	['~'] = ATOM,
	['-'] = ATOM | LABEL,
	['_'] = ATOM | LABEL,
	['0' ... '9'] = ATOM | LABEL,
	['A' ... 'Z'] = ATOM | LABEL,
	['a' ... 'z'] = ATOM | LABEL,
};

static char lower_ascii_letter(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_of_character_class(char c, unsigned class)
{
	return (unsigned char)c < sizeof CLASS && (CLASS[(unsigned char)c] & class) != 0;
}

static bool is_a_label(const char *label, size_t length)
{
	return length >= 4 && memcmp(label, "xn--", 4) == 0;
}

/* Copies NAME in lower case if it is plain ASCII: labels of 1 to 63 bytes. Returns false if it is
 * not, or if it has an A-label, which might be invalid. */
static bool copy_plain_domain(struct str name, char *out)
{
	size_t label = 0; /* where the label begins */

	for (size_t i = 0; i <= name.length; i++) {
		if (i == name.length || name.data[i] == '.') {
			if (i == label || i - label > 63 || is_a_label(out + label, i - label))
				return false;
			label = i + 1;
			if (i == name.length)
				break;
			out[i] = '.';
		} else if (is_of_character_class(name.data[i], LABEL)) {
			out[i] = lower_ascii_letter(name.data[i]);
		} else {
			return false;
		}
	}
	return true;
}

int directory_key_domain(struct str text, struct buffer *out)
{
	size_t before = out->length;

	if (text.length == 0)
		return -EINVAL;
	if (text.length <= DOMAIN_MAX &&
	    copy_plain_domain(text, buffer_reserve(out, text.length))) {
		buffer_commit(out, text.length);
		return 0;
	}
	if (mail_unicode_domain(text, out) < 0)
		return -EINVAL;
	if (out->length - before > DOMAIN_MAX) {
		buffer_truncate(out, before);
		return -EINVAL;
	}
	return 0;
}

/* Copies a dot-string in lower case. Returns false if LOCAL is not a plain one. */
static bool copy_plain_local(struct str local, char *out)
{
	bool in_atom = false;

	for (size_t i = 0; i < local.length; i++) {
		if (local.data[i] == '.' && in_atom)
			in_atom = false;
		else if (is_of_character_class(local.data[i], ATOM))
			in_atom = true;
		else
			return false;
		out[i] = lower_ascii_letter(local.data[i]);
	}
	return in_atom;
}

/* Unquotes LOCAL into OUT: returns the length, or -EINVAL. */
static int unquote_key_local_part(struct str local, char out[static UNQUOTED_MAX])
{
	int length = 0;
	size_t i = 1;

	for (; i < local.length && local.data[i] != '"'; i++) {
		if (local.data[i] == '\\' && ++i == local.length)
			return -EINVAL;
		out[length++] = local.data[i];
	}
	return i + 1 == local.length ? length : -EINVAL;
}

/* Whether every byte of LOCAL is allowed without quotes, dots anywhere. */
static bool is_unquoted(struct str local)
{
	for (size_t i = 0; i < local.length; i++)
		if ((unsigned char)local.data[i] < 0x80 && local.data[i] != '.' &&
		    !is_of_character_class(local.data[i], ATOM))
			return false;
	return true;
}

static bool is_dot_string(struct str local)
{
	bool in_atom = false;

	for (size_t i = 0; i < local.length; i++) {
		if (local.data[i] == '.' && !in_atom)
			return false;
		in_atom = local.data[i] != '.';
	}
	return in_atom && is_unquoted(local);
}

/* Appends LOCAL, which is unquoted, with quotes if it needs them. */
static void append_local_part(struct str local, struct buffer *out)
{
	if (is_dot_string(local)) {
		buffer_append_str(out, local);
		return;
	}
	quote_append(out, local);
}

static int append_local(struct str local, struct buffer *out)
{
	char bare[UNQUOTED_MAX];
	struct buffer form = {0};
	size_t before = out->length;
	int length = (int)local.length;
	int error;

	if (local.data[0] == '"')
		length = unquote_key_local_part(local, bare);
	else if (is_unquoted(local))
		memcpy(bare, local.data, local.length);
	else
		length = -EINVAL;
	if (length <= 0)
		return -EINVAL;
	error = mail_unicode_local(str_slice(bare, (size_t)length), &form);
	if (error == 0)
		append_local_part(buffer_view(&form), out);
	buffer_clear(&form);
	if (out->length - before > MAIL_LOCAL_LONG_MAX)
		error = -EINVAL;
	if (error < 0)
		buffer_truncate(out, before);
	return error;
}

int directory_key_local(struct str text, struct buffer *out)
{
	if (text.length == 0 || text.length > UNQUOTED_MAX)
		return -EINVAL;
	if (text.length <= MAIL_LOCAL_LONG_MAX &&
	    copy_plain_local(text, buffer_reserve(out, text.length))) {
		buffer_commit(out, text.length);
		return 0;
	}
	return append_local(text, out);
}

int directory_key_address(struct str text, struct buffer *out)
{
	ptrdiff_t at = str_find_last(text, '@');
	size_t before = out->length;

	if (at < 0 || directory_key_local(str_slice(text.data, (size_t)at), out) < 0)
		return -EINVAL;
	buffer_append_byte(out, '@');
	if (directory_key_domain(str_skip(text, (size_t)at + 1), out) < 0 ||
	    out->length - before > MAIL_ADDRESS_MAX) {
		buffer_truncate(out, before);
		return -EINVAL;
	}
	return 0;
}

static size_t end_of_sender(struct str text)
{
	ptrdiff_t end = mail_address_end(text);

	return end >= 0 ? (size_t)end : text.length;
}

void directory_key_member(struct str key, struct str *list_out, struct str *member_out)
{
	size_t end = end_of_sender(key);

	*list_out = str_slice(key.data, end);
	*member_out = str_skip(key, end + 1);
}

static int append_member(struct str text, struct buffer *out)
{
	struct str list;
	struct str member;
	size_t before = out->length;

	directory_key_member(text, &list, &member);
	if (directory_key_address(list, out) < 0)
		return -EINVAL;
	buffer_append_byte(out, ' ');
	if (directory_key_address(member, out) < 0) {
		buffer_truncate(out, before);
		return -EINVAL;
	}
	return 0;
}

static int append_catch_all(struct str text, struct buffer *out)
{
	size_t before = out->length;

	buffer_append_byte(out, '@');
	if (directory_key_domain(str_skip(text, 1), out) < 0) {
		buffer_truncate(out, before);
		return -EINVAL;
	}
	return 0;
}

static bool is_node_label(struct str label)
{
	if (label.length == 0 || label.length > 63 || label.data[0] == '-' ||
	    label.data[label.length - 1] == '-')
		return false;
	for (size_t i = 0; i < label.length; i++)
		if (!is_of_character_class(label.data[i], LABEL) || label.data[i] == '_')
			return false;
	return true;
}

static int append_node_name(struct str text, struct buffer *out)
{
	struct str rest = text;
	struct str label;
	bool is_name = text.length > 0 && text.length <= DIRECTORY_NODE_NAME_MAX;

	while (is_name && str_split(&rest, '.', &label))
		is_name = is_node_label(label);
	if (!is_name)
		return -EINVAL;
	for (size_t i = 0; i < text.length; i++)
		buffer_append_byte(out, lower_ascii_letter(text.data[i]));
	return 0;
}

int directory_key_normalize(enum directory_table table, struct str text, struct buffer *out)
{
	switch (table) {
	case DIRECTORY_DOMAIN:
		return directory_key_domain(text, out);
	case DIRECTORY_ADDRESS:
		if (text.length > 0 && text.data[0] == '@')
			return append_catch_all(text, out);
		return directory_key_address(text, out);
	case DIRECTORY_MEMBER:
	case DIRECTORY_MEMBERSHIP:
		return append_member(text, out);
	case DIRECTORY_USER:
	case DIRECTORY_SERVER:
		if (directory_key_local(text, out) == 0)
			return 0;
		return directory_key_address(text, out);
	case DIRECTORY_NODE:
		return append_node_name(text, out);
	case DIRECTORY_NO_TABLE:
	case DIRECTORY_LISTED_TABLES:
		break;
	}
	return -EINVAL;
}

/* The domain is what follows the last '@', or the whole key. */
void directory_key_display(struct str key, struct buffer *out)
{
	while (key.length > 0) {
		struct str word = str_slice(key.data, end_of_sender(key));
		ptrdiff_t at = str_find_last(word, '@');
		struct str domain = at < 0 ? word : str_skip(word, (size_t)at + 1);

		buffer_append(out, word.data, word.length - domain.length);
		mail_unicode_display(domain, out);
		key = str_skip(key, word.length);
		if (key.length > 0)
			buffer_append_byte(out, ' ');
		key = str_skip(key, 1);
	}
}
