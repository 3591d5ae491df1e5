// SPDX-License-Identifier: ISC
#include "header/authors.h"
#include "header/internal.h"
#include "header/name.h"
#include <errno.h>
#include <string.h>

struct reading {
	int (*each)(void *context, struct str address);
	void *context;
	struct buffer *list; /* the one reading */
	size_t count;
	struct str bad;
};

/* --- the one reading --- */

/* What names may have without a meaning for somebody: no quotes, no backslashes, no line ends. */
static void append_harmless(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (header_is_space(c))
			buffer_append_byte(out, ' ');
		else if (c != '"' && c != '\\' && (unsigned char)c > ' ' && c != 0x7f)
			buffer_append_byte(out, c);
	}
}

/* PHRASE as a display name. */
static void append_author_name(struct buffer *out, struct str phrase)
{
	struct buffer harmless CLEANUP(buffer_clear) = {0};

	append_harmless(&harmless, phrase);
	header_name_append_mixed(out, buffer_view(&harmless));
}

static void append_author(struct reading *reading, const struct header_element *element)
{
	size_t before;

	if (reading->count > 0)
		buffer_append_byte(reading->list, ',');
	buffer_append_byte(reading->list, ' ');
	before = reading->list->length;
	append_author_name(reading->list, element->text);
	if (reading->list->length == before) {
		buffer_append_str(reading->list, element->address);
		return;
	}
	buffer_append_string(reading->list, " <");
	buffer_append_str(reading->list, element->address);
	buffer_append_byte(reading->list, '>');
}

static int take_author_element(void *context, const struct header_element *element)
{
	struct reading *reading = context;

	if (element->kind == HEADER_ELEMENT_BAD || element->kind == HEADER_ELEMENT_REST) {
		reading->bad = element->text;
		return -EBADMSG;
	}
	if (element->kind == HEADER_ELEMENT_ADDRESS) {
		append_author(reading, element);
		reading->count++;
	}
	return element->address.length > 0 ? reading->each(reading->context, element->address) : 0;
}

/* --- all other readings --- */

static bool is_of_local_part(char c)
{
	return (unsigned char)c > ' ' && c != 0x7f && !str_is_one_of(c, "()<>[]:;@\\,\"");
}

static bool is_author_domain_byte(char c)
{
	return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || c == '-' || c == '.';
}

/* What ends at END and could be a local part. */
static struct str local_before(struct str text, size_t end)
{
	size_t start = end;

	if (start > 1 && text.data[start - 1] == '"') {
		start--;
		while (start > 0 && text.data[start - 1] != '"')
			start--;
		start -= start > 0;
	} else {
		while (start > 0 && is_of_local_part(text.data[start - 1]))
			start--;
	}
	return str_slice(text.data + start, end - start);
}

/* What is at the start of TEXT and could be a domain. */
static struct str domain_at_start_of(struct str text)
{
	size_t length = 0;

	if (text.length > 0 && text.data[0] == '[')
		return str_slice(text.data, (size_t)(str_find(text, ']') + 1));
	while (length < text.length && is_author_domain_byte(text.data[length]))
		length++;
	while (length > 0 && text.data[length - 1] == '.')
		length--;
	return str_slice(text.data, length);
}

/* What could be an address around the '@' at POSITION. Words with spaces around it are none, unless
 * a dot makes a domain of what follows. */
static int read_around(const struct reading *reading, struct str text, size_t position)
{
	struct buffer address CLEANUP(buffer_clear) = {0};
	size_t end = position;
	size_t start = position + 1;
	struct str local;
	struct str domain;

	while (end > 0 && header_is_space(text.data[end - 1]))
		end--;
	while (start < text.length && header_is_space(text.data[start]))
		start++;
	local = local_before(text, end);
	domain = domain_at_start_of(str_skip(text, start));
	if (local.length == 0 || domain.length == 0 ||
	    (start - end > 1 && str_find(domain, '.') < 0))
		return 0;
	buffer_append_str(&address, local);
	buffer_append_byte(&address, '@');
	buffer_append_str(&address, domain);
	return reading->each(reading->context, buffer_view(&address));
}

static int read_everything(const struct reading *reading, struct str text)
{
	int error = 0;

	for (size_t i = 0; i < text.length && error == 0; i++)
		if (text.data[i] == '@')
			error = read_around(reading, text, i);
	return error;
}

int header_authors_read(struct str list, const struct header_addresses_rules *rules,
			int (*each)(void *context, struct str address), void *context,
			struct buffer *rewritten, struct str *bad_out)
{
	struct buffer only CLEANUP(buffer_clear) = {0};
	struct reading reading = {.each = each, .context = context, .list = &only};
	bool is_plain;
	int error =
		header_addresses_read(list, rules, take_author_element, &reading, NULL, &is_plain);

	if (error == 0 && reading.count == 0)
		error = -EBADMSG;
	if (error == 0 && !is_plain)
		error = read_everything(&reading, list);
	if (error == 0 && !is_plain)
		buffer_append_str(rewritten, buffer_view(&only));
	*bad_out = reading.bad.data != NULL ? reading.bad : STR("");
	return error;
}
