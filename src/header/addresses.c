// SPDX-License-Identifier: ISC
#include "header/addresses.h"
#include "header/internal.h"
#include "mail/address.h"
#include <errno.h>

enum pending_kind {
	PENDING_BARE,    /* a word: an address without a domain, or part of a name */
	PENDING_WORDS,   /* part of a name, or bad */
	PENDING_ADDRESS, /* of the current element: one, or part of a name */
};

/* What is not decided before the next separator, or the next address in angle brackets. */
struct pending {
	enum pending_kind kind;
	size_t start, end; /* in the text */
	size_t address;    /* its position in parser.addresses */
	size_t length;
};

/* The element under way. */
struct element {
	bool has_begun;
	bool is_after_angle; /* no separator is between */
	bool is_after_colon; /* and this is no group */
	size_t start, end;
	size_t words; /* that are part of no address, but for the last ones */
	size_t other; /* bytes that are part of no word */
	size_t addresses, bad_addresses;
	struct header_word word; /* the last ones, with dots between them */
};

struct parser {
	struct header_lexer lexer;
	const struct header_addresses_rules *rules;
	header_element_taker *take;
	void *context;
	struct buffer *rewritten;
	size_t copied;         /* bytes of the text that are in REWRITTEN */
	size_t last_semicolon; /* its position and 1; 0: none */
	bool in_group;
	struct element element;
	size_t name; /* where the name of the next address in angle brackets begins */
	bool has_name;
	struct buffer pending, addresses;
	int error;
};

/* --- what is found --- */

static struct str slice_of(const struct parser *p, size_t start, size_t end)
{
	return str_slice(p->lexer.text.data + start, end - start);
}

static void tell_address_element(struct parser *p, enum header_element_kind kind,
				 struct str address, struct str text)
{
	const struct header_element element = {kind, address, header_trim(text)};

	if (kind != HEADER_ELEMENT_ADDRESS)
		p->lexer.is_plain = false;
	if (p->error == 0 && p->take != NULL)
		p->error = p->take(p->context, &element);
}

static bool is_parsed_address(const struct parser *p, struct str text)
{
	struct mail_address parsed;

	return mail_address_parse(text, p->rules->flags, &parsed) == 0;
}

/* An encoded word, or a quoted text of several words, is a name, though a local part could be
 * written so. */
static bool is_display_name(struct str text)
{
	bool is_encoded = text.length > 4 && str_starts_with(text, STR("=?")) &&
			  str_equal(str_skip(text, text.length - 2), STR("?="));

	return is_encoded ||
	       (str_find(text, '"') >= 0 && (str_find(text, ' ') >= 0 || str_find(text, '@') >= 0 ||
					     str_find(text, '\\') >= 0));
}

/* Appends @HOSTNAME to the local part at the end of ADDRESSES. False: that is no address. */
static bool qualify_local_part(struct parser *p, size_t start)
{
	struct str address;

	if (is_display_name(str_skip(buffer_view(&p->addresses), start)))
		return false;
	buffer_append_byte(&p->addresses, '@');
	buffer_append_str(&p->addresses, p->rules->hostname);
	address = str_skip(buffer_view(&p->addresses), start);
	return is_parsed_address(p, address);
}

/* Adds @HOSTNAME after END of the text. */
static void rewrite_local_part(struct parser *p, size_t end)
{
	if (p->rewritten == NULL)
		return;
	buffer_append_str(p->rewritten, slice_of(p, p->copied, end));
	buffer_append_byte(p->rewritten, '@');
	buffer_append_str(p->rewritten, p->rules->hostname);
	p->copied = end;
}

static struct str pending_address(const struct parser *p, const struct pending *one)
{
	return str_slice(buffer_data(&p->addresses) + one->address, one->length);
}

static size_t pending_count(const struct parser *p)
{
	return p->pending.length / sizeof(struct pending);
}

static void add_pending(struct parser *p, enum pending_kind kind, size_t start, size_t end,
			size_t address)
{
	const struct pending one = {kind, start, end, address, p->addresses.length - address};

	buffer_append(&p->pending, &one, sizeof one);
}

static void clear_pending(struct parser *p)
{
	buffer_reset(&p->pending);
	buffer_reset(&p->addresses);
	p->has_name = false;
}

/* No address in angle brackets follows: words are addresses, or bad. */
static void flush_pending_words(struct parser *p)
{
	const struct pending *pending = (const struct pending *)(void *)buffer_data(&p->pending);

	for (size_t i = 0; i < pending_count(p); i++) {
		const struct pending *one = &pending[i];
		struct str text = slice_of(p, one->start, one->end);

		if (one->kind == PENDING_WORDS) {
			tell_address_element(p, HEADER_ELEMENT_BAD, STR(""), text);
			continue;
		}
		if (one->kind == PENDING_BARE)
			rewrite_local_part(p, one->end);
		tell_address_element(p, HEADER_ELEMENT_ADDRESS, pending_address(p, one), STR(""));
	}
	clear_pending(p);
}

/* Everything that is pending is part of a name. */
static void drop_into_name(struct parser *p)
{
	const struct pending *pending = (const struct pending *)(void *)buffer_data(&p->pending);

	for (size_t i = 0; i < pending_count(p); i++) {
		bool is_whole = pending[i].kind == PENDING_ADDRESS;

		tell_address_element(p, HEADER_ELEMENT_NAME,
				     is_whole ? pending_address(p, &pending[i]) : STR(""),
				     slice_of(p, pending[i].start, pending[i].end));
	}
}

/* --- elements --- */

static void begin_token(struct parser *p)
{
	struct element *e = &p->element;

	if (!e->has_begun) {
		e->has_begun = true;
		e->start = p->lexer.position;
		p->lexer.is_plain &= !e->is_after_angle;
	}
	if (!p->has_name) {
		p->has_name = true;
		p->name = p->lexer.position;
	}
}

static void reset_element(struct parser *p)
{
	buffer_clear(&p->element.word.text);
	p->element = (struct element){.has_begun = false};
}

/* The words so far do not become an address. */
static void end_word(struct element *e)
{
	e->words += e->word.text.length > 0;
	buffer_reset(&e->word.text);
}

static void take_other_byte(struct parser *p)
{
	begin_token(p);
	end_word(&p->element);
	p->element.other++;
	p->lexer.position++;
	p->element.end = p->lexer.position;
	p->lexer.is_plain = false;
}

static void take_address_word(struct parser *p)
{
	struct element *e = &p->element;

	begin_token(p);
	end_word(e);
	header_lexer_word(&p->lexer, &e->word);
	e->end = e->word.end;
	if (e->word.text.length == 0)
		take_other_byte(p);
}

/* At '@', after the words of a local part. */
static void take_at(struct parser *p)
{
	struct element *e = &p->element;
	size_t address = p->addresses.length;
	size_t start = e->word.start;

	if (e->word.text.length == 0) {
		take_other_byte(p);
		return;
	}
	buffer_append_str(&p->addresses, buffer_view(&e->word.text));
	p->lexer.is_plain &= !e->word.has_gap && e->word.end == p->lexer.position;
	if (!header_lexer_domain(&p->lexer, &p->addresses)) {
		buffer_truncate(&p->addresses, address);
		take_other_byte(p);
		return;
	}
	buffer_reset(&e->word.text);
	e->end = p->lexer.position;
	if (is_parsed_address(p, str_skip(buffer_view(&p->addresses), address))) {
		add_pending(p, PENDING_ADDRESS, start, e->end, address);
		e->addresses++;
	} else {
		buffer_truncate(&p->addresses, address);
		e->bad_addresses++;
	}
}

/* Without the addresses of this element, if it is bad. */
static void remove_addresses(struct parser *p)
{
	buffer_truncate(&p->pending,
			p->pending.length - p->element.addresses * sizeof(struct pending));
}

static void add_words_of_element(struct parser *p)
{
	const struct element *e = &p->element;
	size_t address = p->addresses.length;
	bool is_bare = e->words == 0 && e->other == 0 && !e->is_after_colon;

	if (is_bare) {
		buffer_append_str(&p->addresses, buffer_view(&e->word.text));
		is_bare = qualify_local_part(p, address);
	}
	add_pending(p, is_bare ? PENDING_BARE : PENDING_WORDS, e->start, e->end, address);
}

/* At a separator, or at the end. */
static void end_element(struct parser *p)
{
	struct element *e = &p->element;
	bool has_words = e->words + e->other + e->word.text.length > 0;
	struct str text = slice_of(p, e->start, e->end);

	if (e->addresses > 0 && !has_words && e->bad_addresses == 0) {
		p->lexer.is_plain &= e->addresses == 1;
		flush_pending_words(p);
	} else if (e->addresses + e->bad_addresses > 0) {
		remove_addresses(p);
		flush_pending_words(p);
		tell_address_element(p, HEADER_ELEMENT_BAD, STR(""), text);
	} else if (has_words && e->is_after_angle) {
		tell_address_element(p, HEADER_ELEMENT_REST, STR(""), text);
		p->has_name = false;
	} else if (has_words) {
		add_words_of_element(p);
	}
	reset_element(p);
}

/* At ':', which ends the name of a group, or is part of one. */
static void take_colon(struct parser *p)
{
	struct element *e = &p->element;
	bool is_group = !p->in_group && p->last_semicolon > p->lexer.position;

	begin_token(p);
	p->lexer.position++;
	p->lexer.is_plain &= is_group && e->other == 0 && e->addresses == 0 &&
			     e->bad_addresses == 0 && e->words + e->word.text.length > 0;
	remove_addresses(p);
	if (is_group) {
		p->in_group = true;
		flush_pending_words(p);
		reset_element(p);
		return;
	}
	end_word(e);
	e->words = e->other = e->addresses = e->bad_addresses = 0;
	e->is_after_colon = true;
	e->end = p->lexer.position;
}

static void take_address_separator(struct parser *p)
{
	bool is_end = header_lexer_peek(&p->lexer) == ';';

	end_element(p);
	p->lexer.position++;
	if (is_end && p->in_group)
		flush_pending_words(p);
	else if (is_end)
		p->lexer.is_plain = false;
	p->in_group &= !is_end;
}

/* At '<'. */
static void take_angle(struct parser *p)
{
	struct element *e = &p->element;
	size_t start = p->lexer.position;
	struct header_angle angle;
	struct str name;

	begin_token(p);
	name = slice_of(p, p->name, start);
	p->lexer.is_plain &= e->addresses + e->bad_addresses + e->other == 0;
	drop_into_name(p);
	clear_pending(p);
	header_lexer_angle(&p->lexer, &p->addresses, &angle);
	if ((angle.kind == HEADER_ANGLE_LOCAL && !qualify_local_part(p, 0)) ||
	    (angle.kind == HEADER_ANGLE_WHOLE && !is_parsed_address(p, buffer_view(&p->addresses))))
		angle.kind = HEADER_ANGLE_BAD;
	else if (angle.kind == HEADER_ANGLE_LOCAL)
		rewrite_local_part(p, angle.local_end);
	if (angle.kind == HEADER_ANGLE_BAD)
		tell_address_element(p, HEADER_ELEMENT_BAD, STR(""),
				     slice_of(p, start, p->lexer.position));
	else if (angle.kind != HEADER_ANGLE_EMPTY)
		tell_address_element(p, HEADER_ELEMENT_ADDRESS, buffer_view(&p->addresses), name);
	clear_pending(p);
	reset_element(p);
	e->is_after_angle = true;
}

/* At '>', of a bracket that a separator has ended, or that nobody has begun. */
static void take_stray_end(struct parser *p)
{
	end_element(p);
	p->element.is_after_angle = true;
	p->lexer.position++;
	p->lexer.is_plain = false;
}

/* --- the list --- */

static void take_address_list(struct parser *p)
{
	header_lexer_space(&p->lexer);
	while (p->error == 0 && !header_lexer_is_at_end(&p->lexer)) {
		switch (header_lexer_peek(&p->lexer)) {
		case ',':
		case ';':
			take_address_separator(p);
			break;
		case ':':
			take_colon(p);
			break;
		case '<':
			take_angle(p);
			break;
		case '>':
			take_stray_end(p);
			break;
		case '@':
			take_at(p);
			break;
		default:
			take_address_word(p);
		}
		header_lexer_space(&p->lexer);
	}
	end_element(p);
	flush_pending_words(p);
	if (p->in_group)
		p->lexer.is_plain = false;
}

int header_addresses_read(struct str text, const struct header_addresses_rules *rules,
			  header_element_taker *take, void *context, struct buffer *rewritten,
			  bool *is_plain_out)
{
	struct parser parser = {.rules = rules,
				.take = take,
				.context = context,
				.rewritten = rewritten,
				.last_semicolon = (size_t)(str_find_last(text, ';') + 1)};

	header_lexer_init(&parser.lexer, text);
	take_address_list(&parser);
	if (rewritten != NULL)
		buffer_append_str(rewritten, str_skip(text, parser.copied));
	if (is_plain_out != NULL)
		*is_plain_out = parser.lexer.is_plain;
	buffer_clear(&parser.pending);
	buffer_clear(&parser.addresses);
	return parser.error;
}

/* --- only addresses --- */

struct addresses {
	int (*each)(void *context, struct str address);
	void *context;
	bool has_bad;
};

static int take_element_address(void *context, const struct header_element *element)
{
	struct addresses *addresses = context;

	addresses->has_bad |= element->kind == HEADER_ELEMENT_BAD;
	if (element->kind != HEADER_ELEMENT_ADDRESS || addresses->each == NULL)
		return 0;
	return addresses->each(addresses->context, element->address);
}

int header_addresses_parse(struct str text, struct str hostname, unsigned flags,
			   struct buffer *rewritten, int (*each)(void *context, struct str address),
			   void *context)
{
	const struct header_addresses_rules rules = {hostname, flags};
	struct addresses addresses = {.each = each, .context = context};
	int error = header_addresses_read(text, &rules, take_element_address, &addresses, rewritten,
					  NULL);

	return error == 0 && addresses.has_bad ? -EBADMSG : error;
}
