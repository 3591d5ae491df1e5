// SPDX-License-Identifier: ISC
/*
 * What GMime may see of headers. For some of what is in them it takes time that grows with the
 * square of their size, or stack that grows with their depth; so each of these has a bound, and
 * what is beyond it is blank for GMime: spaces, at the same places, after a NUL that ends the field
 * before them, so that they are not looked through again and again.
 *
 * This is decided before GMime begins, by a machine over the lines that knows less than GMime does
 * of what is a header: so it takes for one all that GMime may take for one, and perhaps more. That
 * does no harm: the contents of parts are read as they are, later.
 *
 * A header begins with the message, after each line that may be a delimiter of parts, and after the
 * header of a part that may have a message. It ends with an empty line.
 */
#include "base/panic.h"
#include "filing/decode/mime/internal.h"
#include "header/field.h"
#include <stdlib.h>

enum {
	/* GMime has an object of some kilobytes for each part, and not one line of text in a
	 * thousand begins like a delimiter. */
	DELIMITERS_MAX = 50000,
	HEADERS_SIZE = 1 << 20,     /* bytes of all headers */
	FIELDS_MAX = 10000,         /* of all headers */
	BOUND_WORDS_MAX = 2000,     /* of all headers, that begin like encoded ones (RFC 2047) */
	FIELD_SIZE = 64 << 10,      /* bytes of a field, */
	ADDRESSES_SIZE = 256 << 10, /* of one that has addresses */
	PARAMETERS_MAX = 200,       /* of one that has none (RFC 2045, RFC 2231) */
	GROUPS_DEPTH = 1000,  /* of one that has addresses: colons, each of which may begin one */
	FIELD_WORK = 1 << 22, /* steps of a field, of up to 5 ns: see work_of_field() */
	WORK_MAX = 1 << 23,   /* of all headers */
	FIELD_STEPS = 8,      /* for another field, when it looks which have addresses */
	RANGES_MAX = 100000,  /* that are blank */
	NAME_MAX_LENGTH = 28, /* of a field that is known here */
	BOUND_BLOCK_SIZE = 64 << 10,
};

struct range {
	uint64_t begin;
	uint64_t nul; /* where it is; 0: nowhere */
	uint64_t end;
};

struct decode_bound {
	struct range *ranges; /* in order */
	size_t count;
	size_t room;
};

/* The machine. */
struct scan {
	struct decode_bound *bound;
	uint64_t offset; /* of the next byte */
	uint64_t end;    /* where reading stops; UINT64_MAX: nowhere before the end */
	unsigned delimiters, fields, words;
	uint64_t size; /* of all headers, but for what is blank */
	uint64_t work; /* for the fields before */
	/* the present line */
	uint64_t length;
	unsigned dashes; /* at its beginning; 2: it may be a delimiter */
	bool is_empty;   /* but for a CR */
	/* the present header */
	bool is_header;
	bool has_type;    /* it says what the body is, */
	bool has_message; /* which may be a message */
	bool is_of_part;  /* it follows a delimiter */
	uint64_t again;   /* the part of work that each field with addresses costs again */
	/* the present field */
	char name[NAME_MAX_LENGTH];
	size_t name_length; /* up to the colon; longer than NAME: some other */
	bool is_named;
	bool has_addresses;
	bool is_type;
	uint64_t field_size; /* but for what is blank */
	unsigned parameters, depth;
	unsigned restarts; /* encoded words that have no end before the next */
	bool is_word;      /* one has begun, and has no end yet */
	struct decode_list_work list;
	char last;
	size_t matched; /* bytes of "message" */
	bool is_blank;  /* the rest of it */
};

/* --- what is blank --- */

static void begin_range(struct scan *scan)
{
	struct decode_bound *bound = scan->bound;

	if (scan->is_blank)
		return;
	if (bound->count == RANGES_MAX) {
		scan->end = scan->offset;
		return;
	}
	bound->ranges =
		memory_grow(bound->ranges, bound->count, &bound->room, sizeof *bound->ranges);
	bound->ranges[bound->count++] = (struct range){.begin = scan->offset, .end = scan->offset};
	scan->is_blank = true;
}

/* A line that began with one would be no longer a part of the field before. */
static void place_nul(struct scan *scan)
{
	struct decode_bound *bound = scan->bound;

	if (scan->is_blank && bound->ranges[bound->count - 1].nul == 0 && scan->length > 1)
		bound->ranges[bound->count - 1].nul = scan->offset;
}

static void end_range(struct scan *scan)
{
	if (scan->is_blank)
		scan->bound->ranges[scan->bound->count - 1].end = scan->offset;
	scan->is_blank = false;
}

/* The first range that ends behind OFFSET. */
static size_t find_range(const struct decode_bound *bound, uint64_t offset)
{
	size_t low = 0;
	size_t high = bound->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bound->ranges[middle].end > offset)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* --- fields --- */

static bool name_is(const struct scan *scan, struct str name)
{
	return scan->name_length == name.length &&
	       str_equal_nocase(str_slice(scan->name, name.length), name);
}

/* Its name has ended. */
static void know_field(struct scan *scan)
{
	while (scan->name_length > 0 && scan->name_length <= sizeof scan->name &&
	       (scan->name[scan->name_length - 1] == ' ' ||
		scan->name[scan->name_length - 1] == '\t'))
		scan->name_length--;
	scan->is_named = true;
	scan->is_type = name_is(scan, STR("content-type"));
	scan->has_type |= scan->is_type;
	scan->has_addresses = scan->name_length <= sizeof scan->name &&
			      header_field_has_addresses(str_slice(scan->name, scan->name_length));
	if (scan->has_addresses)
		scan->work += scan->again + (uint64_t)scan->fields * FIELD_STEPS;
}

/* How many steps GMime may need for the present field. It looks for the end of each encoded word,
 * and goes on with the next byte if it finds that at the end of the field only. Fields with
 * addresses it reads again when another one comes. */
static uint64_t work_of_field(const struct scan *scan)
{
	return (scan->restarts + UINT64_C(1)) * scan->field_size + scan->list.steps;
}

static void begin_scanned_field(struct scan *scan)
{
	end_range(scan);
	scan->work += work_of_field(scan);
	if (scan->has_addresses)
		scan->again += work_of_field(scan);
	scan->fields++;
	scan->name_length = 0;
	scan->is_named = false;
	scan->has_addresses = false;
	scan->is_type = false;
	scan->field_size = 0;
	scan->parameters = 0;
	scan->depth = 0;
	scan->restarts = 0;
	scan->is_word = false;
	scan->list = (struct decode_list_work){0};
	scan->matched = 0;
	scan->last = '\0';
}

/* "message" in any case. That no part of it occurs twice makes this simple. */
static void match_message(struct scan *scan, char byte)
{
	static const char message[] = "message";
	char lower = byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;

	if (lower == message[scan->matched])
		scan->matched++;
	else
		scan->matched = lower == message[0];
	if (message[scan->matched] == '\0') {
		scan->has_message = true;
		scan->matched = 0;
	}
}

static void count_encoded_words(struct scan *scan, char byte)
{
	if (byte == '=' && scan->last == '?')
		scan->is_word = false;
	if (byte != '?' || scan->last != '=')
		return;
	scan->words++;
	scan->restarts += scan->is_word;
	scan->is_word = true;
}

/* Whether the field has too much of something with this BYTE of its value. */
static bool is_too_much(struct scan *scan, char byte)
{
	count_encoded_words(scan, byte);
	if (scan->has_addresses)
		decode_list_work_take(&scan->list, byte);
	if (byte == ';' && !scan->has_addresses)
		scan->parameters++;
	if (byte == ';' && scan->depth > 0)
		scan->depth--;
	if (byte == ':')
		scan->depth++;
	return scan->words > BOUND_WORDS_MAX || scan->parameters > PARAMETERS_MAX ||
	       (scan->has_addresses && scan->depth > GROUPS_DEPTH) ||
	       work_of_field(scan) > FIELD_WORK || scan->work + work_of_field(scan) > WORK_MAX ||
	       scan->field_size >
		       (scan->has_addresses ? (unsigned)ADDRESSES_SIZE : (unsigned)FIELD_SIZE);
}

static void take_byte_of_field(struct scan *scan, char byte)
{
	scan->size += !scan->is_blank;
	scan->field_size += !scan->is_blank;
	if (scan->size > HEADERS_SIZE || scan->fields > FIELDS_MAX) {
		begin_range(scan);
	} else if (scan->is_named) {
		if (scan->is_type)
			match_message(scan, byte);
		if (!scan->is_blank && is_too_much(scan, byte))
			begin_range(scan);
	} else if (byte == ':') {
		know_field(scan);
	} else if (scan->name_length < sizeof scan->name) {
		scan->name[scan->name_length++] = byte;
	} else {
		scan->name_length = sizeof scan->name + 1;
	}
	place_nul(scan);
	scan->last = byte;
}

/* --- lines --- */

static void begin_header(struct scan *scan, bool is_of_part)
{
	scan->is_header = true;
	scan->is_of_part = is_of_part;
	scan->has_type = false;
	scan->has_message = false;
	begin_scanned_field(scan);
	scan->again = 0;
}

/* The body of a part that does not say what it is may be a message (multipart/digest). */
static void end_part_header(struct scan *scan)
{
	end_range(scan);
	if (scan->has_message || (scan->is_of_part && !scan->has_type))
		begin_header(scan, false);
	else
		scan->is_header = false;
}

static void end_scanned_line(struct scan *scan)
{
	if (scan->dashes == 2) {
		end_range(scan);
		begin_header(scan, true);
	} else if (scan->is_header && scan->is_empty) {
		end_part_header(scan);
	}
	scan->length = 0;
	scan->dashes = 0;
	scan->is_empty = true;
}

static void take_scanned_byte(struct scan *scan, char byte)
{
	if (scan->length == 0 && scan->is_header && byte != ' ' && byte != '\t' && byte != '\n' &&
	    byte != '\r')
		begin_scanned_field(scan);
	if (scan->length == scan->dashes && byte == '-' && scan->dashes < 2 &&
	    ++scan->dashes == 2 && ++scan->delimiters > DELIMITERS_MAX)
		scan->end = scan->offset - 1;
	scan->is_empty = scan->is_empty && byte == '\r' && scan->length == 0;
	scan->length++;
	/* a line that may be a delimiter stays */
	if (scan->is_header && scan->dashes < 2 && !(scan->length == 1 && byte == '-'))
		take_byte_of_field(scan, byte);
}

/* In a body only the beginnings of lines matter. */
static size_t skip_body_line(const struct scan *scan, struct str text)
{
	ptrdiff_t end;

	if (scan->is_header || scan->length < 2)
		return 0;
	end = str_find(text, '\n');
	return end < 0 ? text.length : (size_t)end;
}

static void take_scanned_text(struct scan *scan, struct str text)
{
	while (text.length > 0 && scan->end == UINT64_MAX) {
		size_t skipped = skip_body_line(scan, text);

		if (skipped == 0) {
			if (text.data[0] == '\n')
				end_scanned_line(scan);
			else
				take_scanned_byte(scan, text.data[0]);
			skipped = 1;
		}
		scan->offset += skipped;
		text = str_skip(text, skipped);
	}
}

/* --- for the stream --- */

static void scan_content(struct scan *scan, struct decode_work *work)
{
	char *block = memory_alloc(BOUND_BLOCK_SIZE);

	while (scan->offset < work->content->size && scan->end == UINT64_MAX) {
		struct str part;

		if (ipc_content_read(work->content, scan->offset, block, BOUND_BLOCK_SIZE, &part) <
		    0) {
			work->problems |= DECODE_PROBLEM_UNREADABLE;
			scan->end = 0;
			break;
		}
		take_scanned_text(scan, part);
	}
	end_range(scan);
	free(block);
}

struct decode_bound *decode_bound_new(struct decode_work *work)
{
	struct decode_bound *bound = memory_alloc_zero(1, sizeof *bound);
	struct scan scan = {.bound = bound, .end = UINT64_MAX, .is_empty = true};

	begin_header(&scan, false);
	scan_content(&scan, work);
	if (scan.end < work->end) {
		work->end = scan.end;
		if ((work->problems & DECODE_PROBLEM_UNREADABLE) == 0)
			work->problems |= DECODE_PROBLEM_DELIMITERS;
	}
	return bound;
}

void decode_bound_apply(const struct decode_bound *bound, uint64_t offset, char *data, size_t size)
{
	for (size_t i = find_range(bound, offset);
	     i < bound->count && bound->ranges[i].begin < offset + size; i++) {
		const struct range *range = &bound->ranges[i];
		uint64_t from = range->begin > offset ? range->begin - offset : 0;
		uint64_t to = range->end - offset < size ? range->end - offset : size;

		for (uint64_t at = from; at < to; at++)
			if (data[at] != '\n')
				data[at] = offset + at == range->nul ? '\0' : ' ';
	}
}

size_t decode_bound_count(const struct decode_bound *bound, uint64_t begin, uint64_t end)
{
	size_t first = find_range(bound, begin);
	size_t count = 0;

	while (first + count < bound->count && bound->ranges[first + count].begin < end)
		count++;
	return count;
}

void decode_bound_free(struct decode_bound *bound)
{
	free(bound->ranges);
	free(bound);
}
