// SPDX-License-Identifier: ISC
/*
 * exchange/pages.h - the records of a table from a directory server, a page at a time; and one
 * question to it that is waited for.
 */
#ifndef EXCHANGE_PAGES_H
#define EXCHANGE_PAGES_H

#include "directory/client/client.h"
#include "directory/record/record.h"

/* A server, and why it did not answer as it should. */
struct exchange_server {
	struct os_loop *loop; /* turned while an answer is waited for */
	struct directory_client *client;
	enum directory_error error;
	char error_text[512];
};

/* Turns the loop until QUESTION, which was asked, is answered; its callback calls
 * exchange_server_stop(). */
void exchange_server_wait(struct exchange_server *server,
			  const struct directory_question *question);
void exchange_server_stop(struct exchange_server *server);
/* Keeps what ANSWER says is wrong; false when that is nothing. */
bool exchange_server_has_failed(struct exchange_server *server,
				const struct directory_answer_text *answer);
/* For people: which server did not answer and why, or what was said. */
const char *exchange_server_problem(const struct exchange_server *server);
/* -ECONNREFUSED, -EACCES, -EINVAL or -EIO. */
int exchange_server_errno(const struct exchange_server *server);

/* Fields out of the words "NAME VALUE"; they point into them. */
void exchange_fields(const struct str *words, size_t count, struct directory_field *fields);

struct exchange_pages;

/* Keys of TABLE that begin with PREFIX, in their order. */
struct exchange_pages *exchange_pages_new(struct exchange_server *server,
					  enum directory_table table, struct str prefix);
/* 1, and the next COUNT records, valid until the next call; 0: there are no more; or -errno of
 * exchange_server_errno(). */
MUST_CHECK int exchange_pages_next(struct exchange_pages *pages,
				   const struct directory_record **records_out, size_t *count_out);
/* What is no record is told while the page that it is on is asked for; otherwise it is left out. */
typedef void exchange_malformed(void *context, enum directory_table table,
				const struct directory_malformed *malformed);
void exchange_pages_hear_malformed(struct exchange_pages *pages, exchange_malformed *malformed,
				   void *context);
void exchange_pages_free(struct exchange_pages *pages);

#endif
