// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/server_play.h - one session of the server engine, for the targets that
 * play whole ones.
 */
#ifndef TESTS_FUZZ_SERVER_PLAY_H
#define TESTS_FUZZ_SERVER_PLAY_H

#include "transcript/session.h"

/* Bits of the byte that chooses service and answers. */
enum {
	SERVER_PLAY_LMTP = 1 << 0,
	SERVER_PLAY_REFUSE_RECIPIENT = 1 << 1,
	SERVER_PLAY_REFUSE_OPEN = 1 << 2,
	SERVER_PLAY_REFUSE_COMMIT = 1 << 3,
	SERVER_PLAY_TIGHT = 1 << 4, /* limits that short inputs reach */
};

/* Bits of the byte that chooses how clients are borne with. */
enum {
	SERVER_PLAY_BARE_NEWLINES = 3 << 0, /* enum smtp_bare_newline; 3: the first again,
					     * and it is submission */
	SERVER_PLAY_REMOVE_NUL = 1 << 2,
	SERVER_PLAY_STRICT = 1 << 3,
	SERVER_PLAY_END_EARLY = 1 << 4,
	SERVER_PLAY_OURS = 1 << 5,          /* a client that may relay */
	SERVER_PLAY_OWN_ADDRESSES = 1 << 6, /* those of 192.0.2.0/24 */
	SERVER_PLAY_AUTH = 1 << 7,          /* required, and clients do not always succeed */
	SERVER_PLAY_RULES = 8,              /* by so many bits it stands above the other byte */
};

/* A session that has said its banner. CHOICE: the first byte, and above it the second. CHUNK bytes
 * at once, with delayed answers; 0: all at once, with instant ones. */
void server_play_begin(struct session *session, unsigned choice, size_t chunk);
/* After a call of session_feed(): panics when the engine broke its contract. */
void server_play_check(const struct session *session);
/* Panics unless both came to the same. */
void server_play_check_equal(const struct session *a, const struct session *b);
/* Panics unless the replies are whole lines, none with bytes of the client's, as many
 * messages or recipients were answered 250 as were queued, and these have CRLF lines. */
void server_play_check_result(const struct session *session);
/* DATA at once, then in pieces, and all of the above; but whoever ends sessions for what comes
 * too early need not come to the same. */
void server_play_twice(unsigned choice, struct str data);

#endif
