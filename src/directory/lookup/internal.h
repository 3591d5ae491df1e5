// SPDX-License-Identifier: ISC
/* directory/lookup/internal.h - between the parts of directory/. */
#ifndef DIRECTORY_LOOKUP_INTERNAL_H
#define DIRECTORY_LOOKUP_INTERNAL_H

#include "directory/lookup/lookup.h"

/* Adds a target, its texts copied; DIRECTORY_UNKNOWN 4.4.6 once there are too
 * many. */
void directory_result_add(struct directory_result *result, const struct directory_target *target);

/* lookup.c: asks for a record, with the patience of directory_lookup(); with section directory. */
void directory_get_record(struct directory *directory, enum directory_table table, struct str key,
			  struct directory_question *question);
/* Nothing happens where nothing waits. */
void directory_cancel_record(struct directory *directory, struct directory_question *question);

/* read.c: what a server said, of the table "route", into RESULT, which is empty and has its
 * arena. What makes no sense, or names a service that CONFIG lacks, is logged, and the
 * answer UNKNOWN. */
void directory_read_route(const struct config *config, const struct directory_answer_text *answer,
			  struct directory_result *result);
/* The same of what an expander answers. */
void directory_read_expansion(const struct config *config, int error,
			      const struct directory_expansion *expansion,
			      struct directory_result *result);
/* The page of members in ANSWER, whose keys begin with PREFIX; MEMBERS_OUT has room for as
 * many as it has results. False: it is none. */
MUST_CHECK bool directory_read_members(const struct directory_answer_text *answer,
				       struct str prefix, struct str *members_out,
				       size_t *count_out);
/* No answer: why, as a verdict of class WAIT. */
void directory_read_error(const struct directory_answer_text *answer, struct mail_verdict *verdict);

#endif
