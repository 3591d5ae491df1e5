// SPDX-License-Identifier: ISC
/*
 * directory/bulk/pages.h - reads the records of a table from a directory server, page by page;
 * and waits for the answer to a single question.
 */
#ifndef DIRECTORY_BULK_PAGES_H
#define DIRECTORY_BULK_PAGES_H

#include "directory/client/client.h"
#include "directory/record/record.h"

/* A server, and its last error. */
struct bulk_server {
	struct os_loop *loop; /* run while waiting for an answer */
	struct directory_client *client;
	enum directory_error error;
	char error_text[512];
};

/* Runs the loop until QUESTION, which is pending, is answered; its callback must call
 * bulk_server_stop(). */
void bulk_server_wait(struct bulk_server *server, const struct directory_question *question);
void bulk_server_stop(struct bulk_server *server);
/* Keeps the error in ANSWER; false if there is none. */
bool bulk_server_has_failed(struct bulk_server *server, const struct directory_answer_text *answer);
/* For people: which server did not answer and why, or its error. */
const char *bulk_server_problem(const struct bulk_server *server);
/* -ECONNREFUSED, -EACCES, -EINVAL or -EIO. */
int bulk_server_errno(const struct bulk_server *server);

/* Converts the words "NAME VALUE" to fields, which are views of them. */
void bulk_fields(const struct str *words, size_t count, struct directory_field *fields);

struct bulk_pages;

/* Keys of TABLE that begin with PREFIX, in order. */
struct bulk_pages *bulk_pages_new(struct bulk_server *server, enum directory_table table,
				  struct str prefix);
/* 1, and the next COUNT records, valid until the next call; 0: no more; or -errno of
 * bulk_server_errno(). */
MUST_CHECK int bulk_pages_next(struct bulk_pages *pages,
			       const struct directory_record **records_out, size_t *count_out);
/* Called for malformed records of a page while it is being read; without it they are ignored. */
typedef void bulk_malformed(void *context, enum directory_table table,
			    const struct directory_malformed *malformed);
void bulk_pages_hear_malformed(struct bulk_pages *pages, bulk_malformed *malformed, void *context);
void bulk_pages_free(struct bulk_pages *pages);

#endif
