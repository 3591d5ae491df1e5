// SPDX-License-Identifier: ISC
/* directory/lookup/internal.h - shared by the parts of directory/lookup. */
#ifndef DIRECTORY_LOOKUP_INTERNAL_H
#define DIRECTORY_LOOKUP_INTERNAL_H

#include "directory/lookup/lookup.h"

/* Adds a target and copies its texts; with too many targets the answer becomes DIRECTORY_UNKNOWN,
 * 4.4.6. */
void directory_result_add(struct directory_result *result, const struct directory_target *target);

/* lookup.c: asks for a record, with the timeout of directory_lookup(); needs section directory. */
void directory_get_record(struct directory *directory, enum directory_table table, struct str key,
			  struct directory_question *question);
/* Does nothing if nothing is pending. */
void directory_cancel_record(struct directory *directory, struct directory_question *question);

/* Appends the key of the record of ADDRESS's mailbox: without extension. -EINVAL: it has none. */
MUST_CHECK int directory_mailbox_key(struct str address, struct buffer *out);
/* Whether ADDRESS, in canonical form, is NAME@default_domain. */
bool directory_is_default_address(const struct directory *directory, struct str name,
				  struct str address);

/* read.c: parses what a server answered from the table "route" into RESULT, which is empty and has
 * its arena. If it makes no sense, or names a service that CONFIG does not have, it is logged, and
 * the answer is UNKNOWN. */
void directory_read_route(const struct config *config, const struct directory_answer_text *answer,
			  struct directory_result *result);
/* Likewise for what an expander answered. */
void directory_read_expansion(const struct config *config, int error,
			      const struct directory_expansion *expansion,
			      struct directory_result *result);
/* Reads a page of members from ANSWER, whose keys must begin with PREFIX; MEMBERS_OUT has room for
 * as many as ANSWER has results. False: malformed. */
MUST_CHECK bool directory_read_members(const struct directory_answer_text *answer,
				       struct str prefix, struct str *members_out,
				       size_t *count_out);
/* The reason of an error as a verdict of class WAIT. */
void directory_read_error(const struct directory_answer_text *answer, struct mail_verdict *verdict);

#endif
