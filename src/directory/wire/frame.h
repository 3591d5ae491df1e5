// SPDX-License-Identifier: ISC
/*
 * directory/wire/frame.h - the protocol's frames: a frame is a netstring
 * (https://cr.yp.to/proto/netstrings.txt) whose content is again netstrings, its words. The
 * first word is the verb. stagepost-directory(7) specifies the whole protocol; in short (ID: 1
 * to 20 digits, chosen by the client; VERSION: decimal):
 *
 *   server, at once:  hello 1 IDENTITY VERSION ROLE...    protocol 1; identity of the data;
 *                                                         roles: read, secret, change
 *   client            since IDENTITY VERSION
 *   server            new VERSION TABLE KEY ... for each change, then: now VERSION;
 *                     or, if it cannot tell: reset IDENTITY VERSION
 *   client            get ID TABLE KEY
 *   server            val ID TTL VERSION RESULT...        TTL in milliseconds
 *                     none ID TTL VERSION RESULT...       there is no such record
 *                     part ID RESULT...                   more follows, "val" at the end
 *                     err ID CODE TEXT                    code: enum directory_error
 *   client            put ID TABLE KEY FIELD...           FIELD: "NAME VALUE"
 *                     del ID TABLE KEY
 *                     edit ID TABLE KEY VERSION FIELD...    a put, if the record has not
 *                                                         changed since VERSION; else err changed
 *   server            ok ID VERSION, durable; none ID 0 VERSION (del: no such record); err
 *   client            list ID TABLE PREFIX AFTER LIMIT    records in the order of keys
 *   server            part..., val ID 0 VERSION RESULT... "= KEY", then its fields; fewer
 *                                                         than LIMIT: no more follow. "! KEY",
 *                                                         "reason TEXT": a malformed one, not
 *                                                         counted
 *   client            ping ID        server: ok ID VERSION
 *                     stats ID       server: val ID 0 VERSION RESULT... "NAME VALUE", for people
 *   client            watch          push every change from now on, whatever the client has
 *                                    cached; no answer
 *   server, any time  new VERSION TABLE KEY               what the client has of it is stale
 *                     reset IDENTITY VERSION              all that the client has is stale
 *                     down                                the data cannot be read now: questions
 *                                                         will be answered "err ID later"
 *                     up                                  the data can be read again
 *                     err 0 CODE TEXT                     why the server closes the connection
 *
 * IDENTITY is compared as a whole; the part before the first "+" identifies the data, and
 * VERSIONs are comparable only if it is equal; the rest identifies the configuration on which
 * answers depend. It is "-" while the server has never read its data.
 *
 * A RESULT is a word, a space and the rest: of a record its fields "NAME VALUE"; of the
 * computed table "route" (KEY: an address), see directory/wire/route.h. Results
 * "on TABLE KEY" name the records on which an answer depends: a "new" of one of them ends it.
 * The answer to a get of a record has one, with KEY in canonical form. The computed table "lacking"
 * (KEY: "scram-sha-256", "scram-sha-1") is for the role secret: "val" without results if some
 * active user has a password and no keys of that method, else "none"; its TTL is 0. Answers come in
 * any order; a "new" comes after all answers that were made before the change, and before all that
 * were made after it.
 */
#ifndef DIRECTORY_WIRE_FRAME_H
#define DIRECTORY_WIRE_FRAME_H

#include "base/attributes.h"
#include "base/buffer.h"

/* The word before the key of a record in a list; no field has that name. */
#define DIRECTORY_RECORD_BEGINS "="
/* The word before the key of a malformed record; the next result says why it is malformed. */
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
	DIRECTORY_ERROR_LATER,   /* "later": the data cannot be read now */
	DIRECTORY_ERROR_DENIED,  /* "denied": not with this role */
	DIRECTORY_ERROR_BAD,     /* "bad": the question or record is malformed; TEXT says why */
	DIRECTORY_ERROR_STORAGE, /* "storage": not durable: disk full, database refuses */
	DIRECTORY_ERROR_CHANGED, /* "changed": the record has changed since it was read */
};
const char *directory_error_name(enum directory_error error);
enum directory_error directory_error_find(struct str name);

/* Finds the first frame of INPUT: 1, with *CONTENT_OUT, a view that is valid until INPUT changes,
 * and *LENGTH_OUT, the bytes that the caller must consume; 0: incomplete; -EINVAL: malformed;
 * -EMSGSIZE: over the bound. */
MUST_CHECK int directory_frame_take(const struct buffer *input, struct str *content_out,
				    size_t *length_out);
/* Takes the next word off CONTENT; false: malformed or none left (then CONTENT is empty). */
MUST_CHECK bool directory_frame_word(struct str *content, struct str *word_out);
/* Splits CONTENT into words: their number, or -EINVAL if it is malformed, -E2BIG over WORDS_MAX. */
MUST_CHECK int directory_frame_words(struct str content, struct str *words, size_t words_max);

/* Writes a frame: words between begin and end, which appends it to OUT. */
struct directory_frame {
	struct buffer *out;
	size_t start; /* of the content in OUT */
};
void directory_frame_begin(struct directory_frame *frame, struct buffer *out, const char *verb);
void directory_frame_add(struct directory_frame *frame, struct str word);
void directory_frame_add_number(struct directory_frame *frame, uint64_t number);
/* Adds "WORD REST" as one word: a result, a field. */
void directory_frame_add_result(struct directory_frame *frame, const char *word, struct str rest);
/* Splits such a RESULT; without a space, all of it is WORD. */
void directory_frame_split_result(struct str result, struct str *word_out, struct str *rest_out);
/* Whether RESULT begins the next record of a list, "= KEY"; then its key. */
MUST_CHECK bool directory_frame_begins_record(struct str result, struct str *key_out);
/* Whether RESULT begins a malformed record, "! KEY"; then its key. */
MUST_CHECK bool directory_frame_begins_malformed(struct str result, struct str *key_out);
/* Bytes of content so far: tells when a part is full. */
size_t directory_frame_size(const struct directory_frame *frame);
void directory_frame_end(struct directory_frame *frame);

#endif
