// SPDX-License-Identifier: ISC
/* tests/unit/played_postgresql_internal.h - shared by the parts of a played PostgreSQL server: its
 * sockets and what it is told (played_postgresql.c), and what it says (played_postgresql_words.c).
 */
#ifndef TESTS_UNIT_PLAYED_POSTGRESQL_INTERNAL_H
#define TESTS_UNIT_PLAYED_POSTGRESQL_INTERNAL_H

#include "base/arena.h"
#include "played_postgresql.h"

enum { PREPARED_MAX = 64 };

struct played_postgresql_prepared {
	struct str name, text;
	uint32_t types[PLAYED_POSTGRESQL_PARAMETERS];
};

struct played_postgresql_session {
	int socket; /* -1: none */
	struct buffer in, out;
	bool is_started, is_skipping, is_closing, is_mute;
	bool has_columns; /* of the present answer */
	struct arena *arena;
	struct played_postgresql_prepared prepared[PREPARED_MAX];
	size_t prepared_count;
	struct played_postgresql_statement bound;
	void *context;
};

extern struct played_postgresql_session played_postgresql_sessions[PLAYED_POSTGRESQL_SESSIONS];

void played_postgresql_append_number(struct buffer *out, uint32_t number, size_t size);
void played_postgresql_send_message(struct played_postgresql_session *session, char kind);
void played_postgresql_send_parameter(struct played_postgresql_session *session, const char *name,
				      const char *value);
void played_postgresql_send_ready(struct played_postgresql_session *session);
void played_postgresql_send_words(struct played_postgresql_session *session, char kind,
				  const char *severity, const char *state, const char *text);

#endif
