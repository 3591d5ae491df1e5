// SPDX-License-Identifier: ISC
/*
 * filing/decode/mime/internal.h - what the files of the decoder share.
 */
#ifndef FILING_DECODE_MIME_INTERNAL_H
#define FILING_DECODE_MIME_INTERNAL_H

#include "base/arena.h"
#include "filing/decode/internal_text.h"
#include "filing/decode/message.h"
#include "ipc/content.h"
#include <gmime/gmime.h>
#include <openssl/evp.h>

/* What could not be decoded: bits, each with its words in mime_problem.c. */
enum decode_problem {
	DECODE_PROBLEM_UNREADABLE = 1 << 0,
	DECODE_PROBLEM_DELIMITERS = 1 << 1,
	DECODE_PROBLEM_PARTICIPANTS = 1 << 2,
	DECODE_PROBLEM_ADDRESS = 1 << 3,
	DECODE_PROBLEM_PARTS = 1 << 4,
	DECODE_PROBLEM_DEPTH = 1 << 5,
	DECODE_PROBLEM_WORK = 1 << 6,
	DECODE_PROBLEM_STRUCTURE = 1 << 7,
	DECODE_PROBLEM_HEADER = 1 << 8,
	DECODE_PROBLEM_WORD = 1 << 9,
	DECODE_PROBLEM_TYPE = 1 << 10,
	DECODE_PROBLEM_ENCODING = 1 << 11,
	DECODE_PROBLEM_DATE = 1 << 12,
	DECODE_PROBLEM_MESSAGE = 1 << 13,
	DECODE_PROBLEM_BOUND = 1 << 14,
};

/* One message while it is decoded. */
struct decode_work {
	const struct ipc_content *content;
	struct arena *arena;
	struct decode_message *message;
	unsigned problems;
	uint64_t end;               /* where reading stops */
	struct decode_bound *bound; /* what is blank */
	bool is_parsing;            /* now: headers are read */
	size_t blank;               /* ranges of it that are in contents of parts, and not missed */
	uint64_t budget;            /* bytes that may still be digested */
};

/* bound.c: what GMime does not see of headers. Sets WORK's end before a line of more delimiters
 * than anybody needs. */
struct decode_bound *decode_bound_new(struct decode_work *work);
void decode_bound_free(struct decode_bound *bound);
/* DATA is at OFFSET: blanks what GMime does not see while it parses. */
void decode_bound_apply(const struct decode_bound *bound, uint64_t offset, char *data, size_t size);
/* The number of blank ranges between BEGIN and END. */
size_t decode_bound_count(const struct decode_bound *bound, uint64_t begin, uint64_t end);

/* list_work.c: what the list of addresses of a field costs. All zero: before its first byte. */
struct decode_list_work {
	uint64_t steps;    /* so far */
	uint64_t restarts; /* places from which the next byte is looked at */
	bool is_quoted;
	bool is_unclear; /* what is quoted is not certain */
	char last;       /* byte that is no space */
};
void decode_list_work_take(struct decode_list_work *work, char byte);

/* mime_stream.c: the content, as GMime reads it. */
GMimeStream *decode_source_new(struct decode_work *work);

/* A stream that only digests what is written to it. IS_TEXT: all lines end in CRLF, as they do on
 * their way, whatever they have here. */
GMimeStream *decode_sink_new(struct decode_work *work, bool is_text);
/* To be called once. */
uint64_t decode_sink_end(GMimeStream *sink, unsigned char digest[DECODE_DIGEST_SIZE]);

/* mime_problem.c: the words for PROBLEMS. */
struct str decode_problem_tell(struct arena *arena, unsigned problems);
/* What GMime warns of. */
unsigned decode_problem_of(GMimeParserWarning warning);

/* mime_parts.c: lists the parts of WORK's message. */
void decode_parts_list(struct decode_work *work, GMimeMessage *message);
/* mime_participants.c: likewise. */
void decode_participants_list(struct decode_work *work, GMimeMessage *message);
/* mime_words.c: notes whether encoded words of its header cannot be converted. */
void decode_words_check(struct decode_work *work, GMimeMessage *message);

#endif
