// SPDX-License-Identifier: ISC
/*
 * queue/listing/survey.h - counts the messages in each place of the queue a little at a time, for a
 * process that must not stand still meanwhile.
 *
 * A message that moves meanwhile may be counted twice, or not at all.
 */
#ifndef QUEUE_LISTING_SURVEY_H
#define QUEUE_LISTING_SURVEY_H

#include "queue/store.h"

enum {
	LISTING_SURVEY_PLACES_MAX = 512,    /* services beyond are not counted */
	LISTING_SURVEY_READS_MAX = 1000000, /* messages whose age and size are read */
	LISTING_SURVEY_FOUND_MAX = 16,
};

struct listing_survey;

struct listing_survey_place {
	char name[64]; /* "arrive" and other stages; "preprocessed"; "remote"; "local NAME" */
	uint64_t messages;
};

/* Messages at a stage or preprocessed are all there are; the other places have names of those
 * that are preprocessed. */
struct listing_survey_result {
	struct listing_survey_place *places; /* owned by the survey */
	size_t place_count;
	uint64_t messages;
	uint64_t bytes;    /* of their data */
	int64_t oldest_us; /* the earliest birth; 0: no message */
	uint64_t unread;   /* messages whose age and size are not known */
};

/* A message that was looked for. */
struct listing_survey_found {
	struct mail_id id;
	bool is_queued; /* at STAGE; otherwise it is preprocessed */
	enum mail_stage stage;
};

/* STORE is borrowed. SERVICES: the names of those whose folders are counted, copied. */
struct listing_survey *listing_survey_new(struct queue_store *store, const char *const *services,
					  size_t service_count);
/* Before the first step: messages that were born at BORN_US are looked for, as those are that nodes
 * hand over to each other. */
void listing_survey_look_for(struct listing_survey *survey, int64_t born_us);
/* Those found so far; returns how many. */
size_t listing_survey_found(const struct listing_survey *survey,
			    const struct listing_survey_found **found_out);
/* Looks at one message. 1: there is more to do; 0: it is complete; -errno. */
MUST_CHECK int listing_survey_step(struct listing_survey *survey);
/* Complete only when a step has said so. */
const struct listing_survey_result *listing_survey_result(const struct listing_survey *survey);
/* NULL is allowed. */
void listing_survey_free(struct listing_survey *survey);

#endif
