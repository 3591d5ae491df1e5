// SPDX-License-Identifier: ISC
/*
 * directory/wire/frame.h - the protocol's frames, and nothing but them: a frame is a
 * netstring (https://cr.yp.to/proto/netstrings.txt) whose content is netstrings, its
 * words. The first word is the verb. stagepost-directory(7) is the whole protocol;
 * in short (ID: 1 to 20 digits, chosen by the client; VERSION: decimal):
 *
 *   server, at once:  hello 1 IDENTITY VERSION ROLE...    protocol 1; identity of the data;
 *                                                         roles: read, secret, change
 *   client            since IDENTITY VERSION
 *   server            new VERSION TABLE KEY ... for each change, then: now VERSION;
 *                     or, when it cannot tell: reset IDENTITY VERSION
 *   client            get ID TABLE KEY
 *   server            val ID TTL VERSION RESULT...        TTL in milliseconds
 *                     none ID TTL VERSION RESULT...       there is no such record
 *                     part ID RESULT...                   more comes, "val" at the end
 *                     err ID CODE TEXT                    code: enum directory_error
 *   client            put ID TABLE KEY FIELD...           FIELD: "NAME VALUE"
 *                     del ID TABLE KEY
 *   server            ok ID VERSION, durable; none ID 0 VERSION (del: there was none); err
 *   client            list ID TABLE PREFIX AFTER LIMIT    records in the order of keys
 *   server            part..., val ID 0 VERSION RESULT... "= KEY", then its fields; fewer
 *                                                         than LIMIT: it was the last. "! KEY",
 *                                                         "reason TEXT": a malformed one, which
 *                                                         does not count
 *   client            ping ID        server: ok ID VERSION
 *                     stats ID       server: val ID 0 VERSION RESULT... "NAME VALUE", for people
 *   client            watch          from now on every change is pushed, whatever the client
 *                                    may hold; no answer
 *   server, any time  new VERSION TABLE KEY               what you hold of it is old
 *                     reset IDENTITY VERSION              all that you hold is old
 *                     down                                the data cannot be read now: questions
 *                                                         will be answered "err ID later"
 *                     up                                  they can again
 *                     err 0 CODE TEXT                     why it ends the connection
 *
 * IDENTITY is compared whole; its part before the first "+" names the data, by which alone
 * VERSIONs can be compared, what follows the configuration that answers depend on. It
 * is "-" while the data were never read.
 *
 * A RESULT is a word, a space and the rest: of a record its fields "NAME VALUE", and of the
 * table that is computed, "route" (KEY: an address), see directory/wire/route.h. Results
 * "on TABLE KEY" say on which records an answer depends: "new" of one of these ends it. To a
 * get of a record there is one, with KEY in its one form.
 * Answers come in any order; a "new" comes after all answers that were made before the
 * change, and before any that was made after it.
 */
#ifndef DIRECTORY_WIRE_FRAME_H
#define DIRECTORY_WIRE_FRAME_H

#include "base/attributes.h"
#include "base/buffer.h"

/* The word before the key of a list's record; no field has that name. */
#define DIRECTORY_RECORD_BEGINS "="
/* The same before that of one that is malformed; the result after it says why. */
#define DIRECTORY_MALFORMED_BEGINS "!"

enum {
	DIRECTORY_PROTOCOL = 1,
	DIRECTORY_FRAME_MAX = 64 * 1024, /* bytes of its content */
	DIRECTORY_WORDS_MAX = 2048,      /* of a frame */
	DIRECTORY_LIST_MAX = 1000,       /* LIMIT */
};

/* Err's codes, as words: */
enum directory_error {
	DIRECTORY_ERROR_NONE,
	DIRECTORY_ERROR_LATER,   /* "later": the data cannot be reached now */
	DIRECTORY_ERROR_DENIED,  /* "denied": not with this role */
	DIRECTORY_ERROR_BAD,     /* "bad": the question or record is malformed; TEXT says why */
	DIRECTORY_ERROR_STORAGE, /* "storage": not durable: disk full, database refuses */
};
const char *directory_error_name(enum directory_error error);
enum directory_error directory_error_find(struct str name);

/* Takes the first frame off INPUT, which is left alone while it is not whole. 1 and
 * *CONTENT_OUT, a view that is valid until INPUT changes, with *LENGTH_OUT bytes to be
 * consumed by the caller; 0: more is needed; -EINVAL malformed; -EMSGSIZE over the bound. */
MUST_CHECK int directory_frame_take(const struct buffer *input, struct str *content_out,
				    size_t *length_out);
/* The next word off CONTENT; false: malformed or none left (then CONTENT is empty). */
MUST_CHECK bool directory_frame_word(struct str *content, struct str *word_out);
/* All words: their count, or -EINVAL when CONTENT is no list, -E2BIG over WORDS_MAX. */
MUST_CHECK int directory_frame_words(struct str content, struct str *words, size_t words_max);

/* Writing: words between begin and end. The frame is appended to OUT whole at the end. */
struct directory_frame {
	struct buffer *out;
	size_t start; /* of the content in OUT */
};
void directory_frame_begin(struct directory_frame *frame, struct buffer *out, const char *verb);
void directory_frame_add(struct directory_frame *frame, struct str word);
void directory_frame_add_number(struct directory_frame *frame, uint64_t number);
/* "WORD REST" as one word: results, fields. */
void directory_frame_add_result(struct directory_frame *frame, const char *word, struct str rest);
/* WORD and REST of such a RESULT; without a space it is all WORD. */
void directory_frame_split_result(struct str result, struct str *word_out, struct str *rest_out);
/* Whether RESULT begins the next record of a list, "= KEY"; then its key. */
MUST_CHECK bool directory_frame_begins_record(struct str result, struct str *key_out);
/* The same of one that is malformed, "! KEY". */
MUST_CHECK bool directory_frame_begins_malformed(struct str result, struct str *key_out);
/* Bytes of content so far, to know when a part is full. */
size_t directory_frame_size(const struct directory_frame *frame);
void directory_frame_end(struct directory_frame *frame);

#endif
