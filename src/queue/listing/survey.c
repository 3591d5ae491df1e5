// SPDX-License-Identifier: ISC
#include "queue/listing/survey.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/update.h"
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
	size_t folder;     /* that is counted now */
	uint32_t x;        /* its directory that is listed next */
	uint64_t *numbers; /* owned: messages of the last one, which are read */
	size_t number_count;
	size_t number_capacity;
	size_t next; /* of these */
	uint64_t reads;
	struct buffer text; /* of a file */
};

static bool add_survey_folder(struct listing_survey *survey, enum queue_folder folder,
			      const char *name)
{
	size_t i = survey->result.place_count;
	const char *title = folder == QUEUE_INFO     ? "preprocessed"
			    : folder == QUEUE_REMOTE ? "remote"
						     : name;

	if (i == LISTING_SURVEY_PLACES_MAX)
		return false;
	survey->folders[i].folder = folder;
	snprintf(survey->folders[i].name, sizeof survey->folders[i].name, "%s", name);
	snprintf(survey->places[i].name, sizeof survey->places[i].name, "%s%s",
		 folder == QUEUE_LOCAL ? "local " : "", title);
	survey->result.place_count++;
	return true;
}

static int add_survey_service(void *context, const char *name)
{
	if (queue_service_is_valid(str_from(name)))
		(void)add_survey_folder(context, QUEUE_LOCAL, name);
	return 0;
}

struct listing_survey *listing_survey_new(struct queue_store *store)
{
	struct listing_survey *survey = memory_alloc_zero(1, sizeof *survey);

	survey->store = store;
	survey->result.places = survey->places;
	for (enum mail_stage stage = 0; stage < MAIL_STAGE_COUNT; stage++) {
		survey->folders[survey->result.place_count].stage = stage;
		(void)add_survey_folder(survey, QUEUE_TODO, mail_stage_name(stage));
	}
	(void)add_survey_folder(survey, QUEUE_INFO, "");
	(void)add_survey_folder(survey, QUEUE_REMOTE, "");
	return survey;
}

void listing_survey_free(struct listing_survey *survey)
{
	if (survey == NULL)
		return;
	buffer_clear(&survey->text);
	free(survey->numbers);
	free(survey);
}

const struct listing_survey_result *listing_survey_result(const struct listing_survey *survey)
{
	return &survey->result;
}

/* --- what a file says --- */

/* Its birth and size from the lines of an envelope; false: it has none of its own. */
static bool read_survey_lines(struct str text, struct mail_id *id_out, uint64_t *size_out)
{
	bool has_id = false;
	bool has_size = false;
	struct str line;

	while (text.length > 0 && str_split(&text, '\n', &line) && !str_equal(line, STR("end:"))) {
		if (str_starts_with(line, STR("id: ")))
			has_id = mail_id_parse(str_skip(line, strlen("id: ")), id_out);
		else if (str_starts_with(line, STR("size: ")))
			has_size = str_to_u64(str_skip(line, strlen("size: ")), size_out);
	}
	return has_id && has_size;
}

/* What has ended meanwhile is not there: no error, and what cannot be read is UNREAD. */
static void read_surveyed_message(struct listing_survey *survey, uint64_t number)
{
	const struct survey_folder *folder = &survey->folders[survey->folder];
	const enum mail_stage *stage = folder->folder == QUEUE_TODO ? &folder->stage : NULL;
	struct listing_survey_result *result = &survey->result;
	struct mail_id id = {0, 0};
	uint64_t size = 0;

	buffer_reset(&survey->text);
	survey->reads++;
	if (queue_update_read(survey->store, stage, number, &survey->text) < 0 ||
	    !read_survey_lines(buffer_view(&survey->text), &id, &size) || id.number != number) {
		result->unread++;
		return;
	}
	result->bytes += size;
	if (result->oldest_us == 0 || id.born_us < result->oldest_us)
		result->oldest_us = id.born_us;
}

/* --- steps --- */

static int note_surveyed_number(void *context, uint64_t number)
{
	struct listing_survey *survey = context;
	enum queue_folder folder = survey->folders[survey->folder].folder;

	survey->places[survey->folder].messages++;
	if (folder != QUEUE_TODO && folder != QUEUE_INFO)
		return 0;
	survey->result.messages++;
	survey->numbers = memory_grow(survey->numbers, survey->number_count,
				      &survey->number_capacity, sizeof *survey->numbers);
	survey->numbers[survey->number_count++] = number;
	return 0;
}

static int list_surveyed_directory(struct listing_survey *survey)
{
	const struct survey_folder *folder = &survey->folders[survey->folder];
	const char *name = folder->name[0] != '\0' ? folder->name : NULL;
	int result;

	if (survey->x == 0 && folder->folder == QUEUE_REMOTE) {
		result = os_file_list(queue_store_directory(survey->store), "local",
				      add_survey_service, survey);
		if (result < 0)
			return result;
	}
	survey->number_count = survey->next = 0;
	result = queue_store_each_part(survey->store, folder->folder, name, survey->x,
				       note_surveyed_number, NULL, survey);
	survey->x++;
	return result;
}

int listing_survey_step(struct listing_survey *survey)
{
	int result;

	if (survey->next < survey->number_count) {
		for (unsigned i = 0; i < LISTING_SURVEY_READS_A_STEP &&
				     survey->next < survey->number_count;
		     i++) {
			if (survey->reads < LISTING_SURVEY_READS_MAX)
				read_surveyed_message(survey, survey->numbers[survey->next]);
			else
				survey->result.unread++;
			survey->next++;
		}
		return 1;
	}
	if (survey->x == queue_store_split(survey->store)) {
		survey->x = 0;
		survey->folder++;
	}
	if (survey->folder == survey->result.place_count)
		return 0;
	result = list_surveyed_directory(survey);
	return result < 0 ? result : 1;
}
