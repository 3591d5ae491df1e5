// SPDX-License-Identifier: ISC
#include "queue/listing/survey.h"
#include "base/panic.h"
#include "queue/update.h"
#include "queue/walk.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct survey_folder {
	enum queue_folder folder;
	char name[QUEUE_SERVICE_MAX + 1]; /* of a stage or service; "": it has none */
	enum mail_stage stage;
};

struct listing_survey {
	struct queue_store *store;
	struct listing_survey_result result;
	struct survey_folder folders[LISTING_SURVEY_PLACES_MAX];
	struct listing_survey_place places[LISTING_SURVEY_PLACES_MAX]; /* of these */
	size_t folder;                                                 /* that is counted now */
	struct queue_walk walk;
	bool is_walking; /* through it */
	uint64_t reads;
	int64_t wanted_us; /* 0: no message is looked for */
	struct listing_survey_found found[LISTING_SURVEY_FOUND_MAX];
	size_t found_count;
};

static void add_survey_folder(struct listing_survey *survey, enum queue_folder folder,
			      const char *name)
{
	size_t i = survey->result.place_count;
	const char *title = folder == QUEUE_INFO     ? "preprocessed"
			    : folder == QUEUE_REMOTE ? "remote"
						     : name;

	if (i == LISTING_SURVEY_PLACES_MAX)
		return;
	survey->folders[i].folder = folder;
	snprintf(survey->folders[i].name, sizeof survey->folders[i].name, "%s", name);
	snprintf(survey->places[i].name, sizeof survey->places[i].name, "%s%s",
		 folder == QUEUE_LOCAL ? "local " : "", title);
	survey->result.place_count++;
}

struct listing_survey *listing_survey_new(struct queue_store *store, const char *const *services,
					  size_t service_count)
{
	struct listing_survey *survey = memory_alloc_zero(1, sizeof *survey);

	survey->store = store;
	survey->result.places = survey->places;
	for (enum mail_stage stage = 0; stage < MAIL_STAGE_COUNT; stage++) {
		survey->folders[survey->result.place_count].stage = stage;
		add_survey_folder(survey, QUEUE_TODO, mail_stage_name(stage));
	}
	add_survey_folder(survey, QUEUE_INFO, "");
	add_survey_folder(survey, QUEUE_REMOTE, "");
	for (size_t i = 0; i < service_count; i++)
		if (queue_service_is_valid(str_from(services[i])))
			add_survey_folder(survey, QUEUE_LOCAL, services[i]);
	return survey;
}

void listing_survey_free(struct listing_survey *survey)
{
	if (survey == NULL)
		return;
	if (survey->is_walking)
		queue_walk_end(&survey->walk);
	free(survey);
}

void listing_survey_look_for(struct listing_survey *survey, int64_t born_us)
{
	survey->wanted_us = born_us;
}

size_t listing_survey_found(const struct listing_survey *survey,
			    const struct listing_survey_found **found_out)
{
	*found_out = survey->found;
	return survey->found_count;
}

const struct listing_survey_result *listing_survey_result(const struct listing_survey *survey)
{
	return &survey->result;
}

/* What has ended meanwhile is not there, what cannot be read is UNREAD: neither is an error. */
static void read_surveyed_message(struct listing_survey *survey, uint64_t number)
{
	const struct survey_folder *folder = &survey->folders[survey->folder];
	const enum mail_stage *stage = folder->folder == QUEUE_TODO ? &folder->stage : NULL;
	struct listing_survey_result *result = &survey->result;
	struct queue_control *control;
	int64_t born_us;

	if (survey->reads++ >= LISTING_SURVEY_READS_MAX ||
	    queue_update_load(survey->store, stage, number, &control, NULL) < 0) {
		result->unread++;
		return;
	}
	born_us = control->envelope->id.born_us;
	result->bytes += control->envelope->size;
	if (result->oldest_us == 0 || born_us < result->oldest_us)
		result->oldest_us = born_us;
	if (born_us == survey->wanted_us && survey->found_count < LISTING_SURVEY_FOUND_MAX)
		survey->found[survey->found_count++] = (struct listing_survey_found){
			control->envelope->id, stage != NULL, folder->stage};
	queue_control_free(control);
}

static void count_surveyed_message(struct listing_survey *survey, uint64_t number)
{
	enum queue_folder folder = survey->folders[survey->folder].folder;

	survey->places[survey->folder].messages++;
	if (folder != QUEUE_TODO && folder != QUEUE_INFO)
		return;
	survey->result.messages++;
	read_surveyed_message(survey, number);
}

static void begin_surveyed_folder(struct listing_survey *survey)
{
	const struct survey_folder *folder = &survey->folders[survey->folder];

	queue_walk_begin(&survey->walk, survey->store, folder->folder,
			 folder->name[0] != '\0' ? folder->name : NULL);
	survey->is_walking = true;
}

int listing_survey_step(struct listing_survey *survey)
{
	uint64_t number;
	int result;

	if (survey->folder == survey->result.place_count)
		return 0;
	if (!survey->is_walking)
		begin_surveyed_folder(survey);
	result = queue_walk_next(&survey->walk, &number, NULL);
	/* a power failure may have taken a service's directories (queue_store_add_service()) */
	if (result == -ENOENT && survey->folders[survey->folder].folder == QUEUE_LOCAL)
		return 1;
	if (result > 0)
		count_surveyed_message(survey, number);
	if (result != 0)
		return result;
	queue_walk_end(&survey->walk);
	survey->is_walking = false;
	survey->folder++;
	return 1;
}
