// SPDX-License-Identifier: ISC
/* Addresses in alias files: RFC 5322 section 3.4, one at a time. */
#include "directory/bulk/format/internal.h"
#include <string.h>

/* The nesting at a position. */
struct place {
	bool in_quotes;
	bool is_escaped;
	unsigned comments;
	bool in_brackets;
};

/* Advances over BYTE; returns whether it is outside quotes, comments and angle brackets. */
static bool step_over_address_byte(struct place *place, char byte)
{
	bool was_bare = !place->in_quotes && place->comments == 0 && !place->in_brackets;

	if (place->is_escaped) {
		place->is_escaped = false;
		return false;
	}
	if (byte == '\\') {
		place->is_escaped = true;
		return false;
	}
	if (byte == '"' && place->comments == 0)
		place->in_quotes = !place->in_quotes;
	else if (byte == '(' && !place->in_quotes)
		place->comments++;
	else if (byte == ')' && !place->in_quotes && place->comments > 0)
		place->comments--;
	else if (byte == '<' && was_bare)
		place->in_brackets = true;
	else if (byte == '>' && !place->in_quotes && place->comments == 0)
		place->in_brackets = false;
	return was_bare && byte != '"' && byte != '(' && byte != '<';
}

ptrdiff_t bulk_find_bare(struct str text, const char *set)
{
	struct place place = {0};

	for (size_t i = 0; i < text.length; i++)
		if (step_over_address_byte(&place, text.data[i]) && text.data[i] != '\0' &&
		    strchr(set, text.data[i]) != NULL)
			return (ptrdiff_t)i;
	return -1;
}

bool bulk_split(struct str *rest, struct str *piece_out)
{
	ptrdiff_t comma = bulk_find_bare(*rest, ",");

	if (rest->length == 0)
		return false;
	*piece_out = comma < 0 ? *rest : str_slice(rest->data, (size_t)comma);
	*rest = comma < 0 ? STR("") : str_skip(*rest, (size_t)comma + 1);
	*piece_out = str_trim(*piece_out);
	return true;
}

/* TEXT without comments; if it has angle brackets, only what is within them. */
static struct str strip_address_comments(struct arena *arena, struct str text)
{
	char *copy = arena_alloc(arena, text.length + 1);
	struct place place = {0};
	size_t length = 0;

	for (size_t i = 0; i < text.length; i++) {
		struct place before = place;

		(void)step_over_address_byte(&place, text.data[i]);
		if (!before.in_brackets && place.in_brackets)
			length = 0;
		else if (before.in_brackets && !place.in_brackets)
			break;
		else if (before.comments == 0 && place.comments == 0)
			copy[length++] = text.data[i];
	}
	return str_trim(str_slice(copy, length));
}

const char *bulk_address(struct bulk_reader *reader, struct str text, struct str *address_out)
{
	const char *domain = reader->settings->domain;
	struct str bare = strip_address_comments(reader->arena, text);
	char *whole;

	if (bare.length == 0)
		return "there is no address";
	if (bulk_find_bare(bare, " \t") >= 0)
		return "is no address; between two there is a comma";
	if (bulk_find_bare(bare, "@") >= 0) {
		*address_out = bare;
		return NULL;
	}
	if (domain == NULL)
		return "has no domain; --domain says which one to add";
	whole = arena_alloc(reader->arena, bare.length + strlen(domain) + 2);
	memcpy(whole, bare.data, bare.length);
	whole[bare.length] = '@';
	memcpy(whole + bare.length + 1, domain, strlen(domain));
	*address_out = str_slice(whole, bare.length + 1 + strlen(domain));
	return NULL;
}
