// SPDX-License-Identifier: ISC
/*
 * header/loop.h - the marks by which a site recognises mail that comes back to it.
 *
 *   X-Stagepost-Loop: v1 8c2f1d0b77a4e953
 *
 * Where mail is delivered, or an address of ours leads it on, it gets such a field: the address and
 * which of the two it was, by SipHash-2-4 with the site's key. A Delivered-To is anybody's to
 * write; a mark only the nodes of the site can make, and without the key it does not say whose it
 * is.
 *
 * The two are not the same. Where one node leads ann@a to ann@b on the other, which has it filed as
 * ann@a again, the message has been led on from ann@a and delivered to nobody: no loop.
 *
 * A user who sends a message again puts fields Resent- above what it had (RFC 5322 section 3.6.6),
 * which programs that send mail on do not. So a mark below such a field is no loop; but some
 * programs do it all the same, so HEADER_LOOP_RESENT_MAX of them for one address are.
 */
#ifndef HEADER_LOOP_H
#define HEADER_LOOP_H

#include "base/buffer.h"
#include "base/hash.h"

enum {
	HEADER_LOOP_MAX = 64,       /* marks of a message that are kept */
	HEADER_LOOP_LINE_MAX = 40,  /* bytes of a line that say whether it has a mark, and which */
	HEADER_LOOP_RESENT_MAX = 3, /* marks of one address, whoever has sent it again */
};

enum header_loop_way {
	HEADER_LOOP_DELIVERED = 'd', /* to the address: its mailbox, its program, its list */
	HEADER_LOOP_LED_ON = 'l',    /* from the address to another one */
};

/* The marks of a message, from the top. Zeroed at first. */
struct header_loop {
	uint64_t marks[HEADER_LOOP_MAX];
	uint32_t count;
	uint32_t above_resent; /* so many of them are above the first field Resent- */
	bool has_resent;
};

enum header_loop_line {
	HEADER_LOOP_NONE, /* nothing of interest */
	HEADER_LOOP_MARK,
	HEADER_LOOP_RESENT,
};

/* What LINE, of which HEADER_LOOP_LINE_MAX bytes are enough, begins; MARK: *MARK_OUT. One of
 * another form is NONE. */
enum header_loop_line header_loop_parse(struct str line, uint64_t *mark_out);
/* Takes the mark of the next such line. False: there are too many, it is not kept. */
bool header_loop_add(struct header_loop *loop, uint64_t mark);
/* Takes all of HEADER, up to the empty line that ends it; lines end in CRLF or LF. What it has
 * above HEADER_LOOP_MAX is left out. */
void header_loop_read(struct header_loop *loop, struct str header);

/* Whether the site can mark anything: a key of zeros is none. */
bool header_loop_has_key(struct hash_key key);
/* Appends the field, with END (a line end) after it: mail has gone the way WAY with ADDRESS. All
 * spellings of an address are one (mail/localpart.h). Nothing without a key. */
void header_loop_append(struct hash_key key, enum header_loop_way way, struct str address,
			const char *end, struct buffer *out);
/* Whether the message has been through ADDRESS, whatever became of it there. */
bool header_loop_has(const struct header_loop *loop, struct hash_key key, struct str address);
/* Whether it was delivered to ADDRESS; or led on from VIA, or delivered to it. VIA: the address
 * of its envelope, which leads to ADDRESS; empty: that is ADDRESS itself. */
bool header_loop_closes(const struct header_loop *loop, struct hash_key key, struct str address,
			struct str via);

#endif
