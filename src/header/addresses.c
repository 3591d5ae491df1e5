// SPDX-License-Identifier: ISC
#include "header/addresses.h"
#include "mail/address.h"
#include <errno.h>
#include <string.h>

struct parser {
	struct str text;
	size_t position;
	struct str hostname;
	unsigned flags;
	struct buffer *rewritten;
	size_t copied; /* bytes of TEXT that are in REWRITTEN */
	int (*each)(void *context, struct str address);
	void *context;
	bool in_group;
	struct buffer address; /* the current address */
};

/* Words in a row: a display name, or a local part. */
struct words {
	size_t count;
	size_t end;       /* after the last one */
	bool is_sequence; /* two without a dot between them: can only be a name */
};

static char peek(const struct parser *p)
{
	return p->position < p->text.length ? p->text.data[p->position] : '\0';
}

static bool is_at_end(const struct parser *p)
{
	return p->position >= p->text.length;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* RFC 5322 section 3.2.3 and, by RFC 6532, non-ASCII characters. */
static bool is_atext(char c)
{
	unsigned char u = (unsigned char)c;

	return u > ' ' && u != 0x7f && strchr("()<>[]:;@\\,.\"", c) == NULL;
}

static int skip_comment(struct parser *p)
{
	size_t depth = 0;

	do {
		char c = peek(p);

		if (is_at_end(p))
			return -EBADMSG;
		if (c == '\\')
			p->position++;
		depth += c == '(';
		depth -= c == ')';
		p->position++;
	} while (depth > 0);
	return 0;
}

/* Skips comments and folding white space. */
static int skip_space(struct parser *p)
{
	for (;;) {
		while (is_space(peek(p)))
			p->position++;
		if (peek(p) != '(')
			return 0;
		if (skip_comment(p) < 0)
			return -EBADMSG;
	}
}

/* Takes the quoted or bracketed text that starts here, up to CLOSES. */
static int take_until(struct parser *p, char closes)
{
	bool is_escaped = false;

	buffer_append_byte(&p->address, peek(p));
	p->position++;
	while (!is_at_end(p) && (is_escaped || peek(p) != closes)) {
		char c = p->text.data[p->position++];

		is_escaped = c == '\\' && !is_escaped;
		if (c != '\r' && c != '\n') /* a fold is not part of it */
			buffer_append_byte(&p->address, c);
	}
	if (is_at_end(p))
		return -EBADMSG;
	buffer_append_byte(&p->address, closes);
	p->position++;
	return 0;
}

static void take_atom(struct parser *p)
{
	while (is_atext(peek(p)) && !is_at_end(p))
		buffer_append_byte(&p->address, p->text.data[p->position++]);
}

/* Takes all words and dots that follow and appends them without spaces. */
static int take_words(struct parser *p, struct words *words)
{
	bool behind_word = false;

	*words = (struct words){.end = p->position};
	for (;;) {
		char c;

		if (skip_space(p) < 0)
			return -EBADMSG;
		c = peek(p);
		if (is_at_end(p) || (c != '.' && c != '"' && !is_atext(c)))
			return 0;
		if (c == '.') {
			buffer_append_byte(&p->address, '.');
			p->position++;
			behind_word = false;
		} else {
			words->is_sequence |= behind_word;
			if (c != '"')
				take_atom(p);
			else if (take_until(p, '"') < 0)
				return -EBADMSG;
			behind_word = true;
		}
		words->count++;
		words->end = p->position;
	}
}

/* After the '@'. */
static int take_domain(struct parser *p)
{
	struct words words;

	if (skip_space(p) < 0)
		return -EBADMSG;
	if (peek(p) == '[')
		return take_until(p, ']');
	if (take_words(p, &words) < 0 || words.count == 0 || words.is_sequence)
		return -EBADMSG;
	return 0;
}

static void qualify(struct parser *p, size_t end)
{
	buffer_append_byte(&p->address, '@');
	buffer_append_str(&p->address, p->hostname);
	if (p->rewritten == NULL)
		return;
	buffer_append(p->rewritten, p->text.data + p->copied, end - p->copied);
	buffer_append_byte(p->rewritten, '@');
	buffer_append_str(p->rewritten, p->hostname);
	p->copied = end;
}

static int found(struct parser *p)
{
	struct mail_address parsed;

	if (mail_address_parse(buffer_view(&p->address), p->flags, &parsed) < 0)
		return -EBADMSG;
	return p->each != NULL ? p->each(p->context, buffer_view(&p->address)) : 0;
}

/* Takes the rest of the address, whose local part is in p->address. */
static int take_address(struct parser *p, const struct words *local)
{
	if (local->count == 0 || local->is_sequence)
		return -EBADMSG;
	if (peek(p) != '@') {
		qualify(p, local->end);
		return found(p);
	}
	buffer_append_byte(&p->address, '@');
	p->position++;
	return take_domain(p) < 0 ? -EBADMSG : found(p);
}

/* Skips "@ONE,@TWO:", a source route, which has no meaning any more. */
static int skip_route(struct parser *p)
{
	while (peek(p) == '@' || peek(p) == ',') {
		if (p->text.data[p->position++] == '@' && take_domain(p) < 0)
			return -EBADMSG;
		if (skip_space(p) < 0)
			return -EBADMSG;
	}
	if (peek(p) != ':')
		return -EBADMSG;
	p->position++;
	return 0;
}

static int take_angle(struct parser *p)
{
	struct words local;
	int error;

	p->position++;
	if (skip_space(p) < 0)
		return -EBADMSG;
	if (peek(p) == '@' && skip_route(p) < 0)
		return -EBADMSG;
	buffer_reset(&p->address);
	error = take_words(p, &local);
	if (error == 0 && (local.count > 0 || peek(p) != '>'))
		error = take_address(p, &local);
	if (error != 0)
		return error;
	if (skip_space(p) < 0 || peek(p) != '>')
		return -EBADMSG;
	p->position++;
	return 0;
}

static int begin_group(struct parser *p, const struct words *name)
{
	if (p->in_group || name->count == 0)
		return -EBADMSG;
	p->in_group = true;
	p->position++;
	return 0;
}

/* Takes an address, or the name of a group. */
static int take_element(struct parser *p)
{
	struct words words;
	int error;

	buffer_reset(&p->address);
	if (take_words(p, &words) < 0)
		return -EBADMSG;
	if (peek(p) == ':')
		return begin_group(p, &words);
	error = peek(p) == '<' ? take_angle(p) : take_address(p, &words);
	if (error != 0)
		return error;
	if (skip_space(p) < 0)
		return -EBADMSG;
	return is_at_end(p) || peek(p) == ',' || peek(p) == ';' ? 0 : -EBADMSG;
}

static int take_list(struct parser *p)
{
	int error = skip_space(p);

	while (error == 0 && !is_at_end(p)) {
		if (peek(p) == ',') {
			p->position++;
		} else if (peek(p) == ';') {
			if (!p->in_group)
				return -EBADMSG;
			p->in_group = false;
			p->position++;
		} else {
			error = take_element(p);
		}
		if (error == 0)
			error = skip_space(p);
	}
	return error;
}

int header_addresses_parse(struct str text, struct str hostname, unsigned flags,
			   struct buffer *rewritten, int (*each)(void *context, struct str address),
			   void *context)
{
	struct parser parser = {.text = text,
				.hostname = hostname,
				.flags = flags,
				.rewritten = rewritten,
				.each = each,
				.context = context};
	int error = take_list(&parser);

	if (error == 0 && parser.in_group)
		error = -EBADMSG;
	if (error == 0 && rewritten != NULL)
		buffer_append(rewritten, text.data + parser.copied, text.length - parser.copied);
	buffer_clear(&parser.address);
	return error;
}
