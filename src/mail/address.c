// SPDX-License-Identifier: ISC
#include "mail/address.h"
#include "base/text/utf8.h"
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

enum { ADDRESS_LABEL_MAX = 63 };

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* RFC 5322 section 3.2.3 */
static bool is_ascii_atext(char c)
{
	return is_alphanumeric(c) || (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

/* The length of the character at the start of S, if it may be part of an atom or a label;
 * 0: it may not. */
static size_t length_of_character(struct str s, bool (*is_ascii)(char), bool allow_utf8)
{
	if (s.length == 0)
		return 0;
	if ((unsigned char)s.data[0] < 0x80)
		return is_ascii(s.data[0]) ? 1 : 0;
	return allow_utf8 ? utf8_length(s) : 0;
}

/* The length of a dot-string: atoms with dots between them, single ones in strict mode; 0: none. */
static size_t dot_string_length(struct str s, unsigned flags)
{
	bool allow_utf8 = flags & MAIL_ADDRESS_UTF8;
	bool is_strict = flags & MAIL_ADDRESS_STRICT;
	size_t length = 0;
	bool in_atom = false;

	for (;;) {
		size_t step = length_of_character(str_skip(s, length), is_ascii_atext, allow_utf8);

		if (step == 0 && (in_atom || !is_strict) && length < s.length &&
		    s.data[length] == '.') {
			in_atom = !is_strict;
			length++;
			continue;
		}
		if (step == 0)
			return in_atom ? length : 0;
		in_atom = true;
		length += step;
	}
}

static bool is_quotable(char c)
{
	return c >= ' ' && c <= '~';
}

/* RFC 5321 section 4.1.2, Quoted-string: its length with both quotes, or 0. */
static size_t quoted_string_length(struct str s, bool allow_utf8)
{
	size_t length = 1;

	while (length < s.length) {
		size_t step = length_of_character(str_skip(s, length), is_quotable, allow_utf8);

		if (s.data[length] == '"')
			return length + 1;
		if (s.data[length] == '\\') {
			if (length + 1 == s.length || !is_quotable(s.data[length + 1]))
				return 0;
			step = 2;
		}
		if (step == 0)
			return 0;
		length += step;
	}
	return 0;
}

static bool is_label_character(char c)
{
	return is_alphanumeric(c) || c == '-' || c == '_';
}

static bool domain_is_valid(struct str name, bool allow_utf8)
{
	size_t label = 0;
	size_t step;

	if (name.length > MAIL_DOMAIN_MAX)
		return false;
	for (size_t i = 0; i < name.length; i += step) {
		step = length_of_character(str_skip(name, i), is_label_character, allow_utf8);
		if (step == 0 && label > 0 && name.data[i] == '.') {
			step = 1;
			label = 0;
			continue;
		}
		label += step;
		if (step == 0 || label > ADDRESS_LABEL_MAX)
			return false;
	}
	return label > 0;
}

bool mail_domain_is_valid(struct str name)
{
	return domain_is_valid(name, false);
}

bool mail_literal_parse(struct str literal, struct in6_addr *out)
{
	const struct str tag = STR("IPv6:");
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address = {0};
	int family = AF_INET;

	if (literal.length < 2 || literal.data[literal.length - 1] != ']')
		return false;
	literal = str_slice(literal.data + 1, literal.length - 2);
	if (literal.length > tag.length &&
	    str_equal_nocase(str_slice(literal.data, tag.length), tag)) {
		family = AF_INET6;
		literal = str_skip(literal, tag.length);
	}
	if (literal.length == 0 || literal.length >= sizeof text ||
	    memchr(literal.data, '\0', literal.length) != NULL)
		return false;
	memcpy(text, literal.data, literal.length);
	text[literal.length] = '\0';
	if (family == AF_INET6)
		return inet_pton(family, text, out) == 1;
	if (inet_pton(family, text, &address.s6_addr[12]) != 1)
		return false;
	address.s6_addr[10] = address.s6_addr[11] = 0xff;
	*out = address;
	return true;
}

static int parse_address_domain(struct str domain, unsigned flags, struct mail_address *address)
{
	if (domain.length > MAIL_DOMAIN_MAX)
		return -ENAMETOOLONG;
	address->domain = domain;
	address->is_literal = domain.length > 0 && domain.data[0] == '[';
	if (address->is_literal)
		return mail_literal_parse(domain, &(struct in6_addr){0}) ? 0 : -EINVAL;
	return domain_is_valid(domain, flags & MAIL_ADDRESS_UTF8) ? 0 : -EINVAL;
}

int mail_address_parse(struct str text, unsigned flags, struct mail_address *out)
{
	struct mail_address address = {.text = text, .domain = str_skip(text, text.length)};
	bool allow_utf8 = flags & MAIL_ADDRESS_UTF8;
	size_t local_max = flags & MAIL_ADDRESS_STRICT ? MAIL_LOCAL_MAX : MAIL_LOCAL_LONG_MAX;
	size_t local;
	int error;

	if (text.length == 0 && !(flags & MAIL_ADDRESS_NULL))
		return -EINVAL;
	if (text.length > 0) {
		local = text.data[0] == '"' ? quoted_string_length(text, allow_utf8)
					    : dot_string_length(text, flags);
		if (local == 0)
			return -EINVAL;
		if (local > local_max)
			return -ENAMETOOLONG;
		address.local = str_slice(text.data, local);
		if (local == text.length && !(flags & MAIL_ADDRESS_NO_DOMAIN))
			return -EINVAL;
		if (local < text.length) {
			if (text.data[local] != '@')
				return -EINVAL;
			if (flags & MAIL_ADDRESS_ROOT && text.data[text.length - 1] == '.')
				text.length--;
			error = parse_address_domain(str_skip(text, local + 1), flags, &address);
			if (error < 0)
				return error;
		}
	}
	if (text.length > MAIL_ADDRESS_MAX)
		return -ENAMETOOLONG;
	address.text = text;
	*out = address;
	return 0;
}

bool mail_sender_is_null(struct str sender)
{
	return sender.length == 0 || str_equal(sender, STR("#@[]"));
}

struct str mail_sender_told(struct str sender)
{
	return mail_sender_is_null(sender) ? STR("") : sender;
}

ptrdiff_t mail_address_end(struct str text)
{
	bool in_quotes = false;

	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '\\' && in_quotes)
			i++;
		else if (text.data[i] == '"')
			in_quotes = !in_quotes;
		else if (text.data[i] == ' ' && !in_quotes)
			return (ptrdiff_t)i;
	}
	return in_quotes ? -1 : (ptrdiff_t)text.length;
}
