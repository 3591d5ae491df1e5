// SPDX-License-Identifier: ISC
/*
 * directory/exchange/pages.h - reads the records of a table from a directory server, page by page;
 * and waits for the answer to a single question.
 */
#ifndef DIRECTORY_EXCHANGE_PAGES_H
#define DIRECTORY_EXCHANGE_PAGES_H

#include "directory/client/client.h"
#include "directory/record/record.h"

/* A server, and its last error. */
struct exchange_server {
	struct os_loop *loop; /* run while waiting for an answer */
	struct directory_client *client;
	enum directory_error error;
	char error_text[512];
};

/* Runs the loop until QUESTION, which is pending, is answered; its callback must call
 * exchange_server_stop(). */
void exchange_server_wait(struct exchange_server *server,
			  const struct directory_question *question);
void exchange_server_stop(struct exchange_server *server);
/* Keeps the error in ANSWER; false if there is none. */
bool exchange_server_has_failed(struct exchange_server *server,
				const struct directory_answer_text *answer);
/* For people: which server did not answer and why, or its error. */
const char *exchange_server_problem(const struct exchange_server *server);
/* -ECONNREFUSED, -EACCES, -EINVAL or -EIO. */
int exchange_server_errno(const struct exchange_server *server);

/* Converts the words "NAME VALUE" to fields, which are views of them. */
void exchange_fields(const struct str *words, size_t count, struct directory_field *fields);

struct exchange_pages;

/* Keys of TABLE that begin with PREFIX, in order. */
struct exchange_pages *exchange_pages_new(struct exchange_server *server,
					  enum directory_table table, struct str prefix);
/* 1, and the next COUNT records, valid until the next call; 0: no more; or -errno of
 * exchange_server_errno(). */
MUST_CHECK int exchange_pages_next(struct exchange_pages *pages,
				   const struct directory_record **records_out, size_t *count_out);
/* Called for malformed records of a page while it is being read; without it they are ignored. */
typedef void exchange_malformed(void *context, enum directory_table table,
				const struct directory_malformed *malformed);
void exchange_pages_hear_malformed(struct exchange_pages *pages, exchange_malformed *malformed,
				   void *context);
void exchange_pages_free(struct exchange_pages *pages);

#endif
