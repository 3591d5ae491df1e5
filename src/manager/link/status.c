// SPDX-License-Identifier: ISC
#include "manager/link/status.h"
#include "base/panic.h"
#include "base/text/json.h"
#include "log/event.h"
#include "os/clock.h"
#include "queue/listing/survey.h"
#include <stdlib.h>

static const int64_t SLICE_US = 2 * SECOND_US / 1000;
static const int64_t PAUSE_US = 2 * SECOND_US / 1000;

struct asker {
	const char *service; /* a literal */
	uint32_t question;
	int64_t born_us; /* of the message that it asks about; 0: about none */
};

struct status {
	struct os_loop *loop;
	struct queue_store *store;
	struct helpers *helpers;
	const struct status_handler *handler;
	void *context;
	struct asker askers[STATUS_ASKERS_MAX];
	size_t asker_count;
	struct os_timer *patience;   /* of them */
	struct os_timer *slice;      /* of the survey that is under way */
	struct listing_survey *next; /* that; NULL: none */
	struct listing_survey *last; /* complete; NULL: none yet */
	int64_t next_born_us;        /* what the one under way looks for; 0: nothing */
	int64_t last_born_us;        /* and what the last one has looked for */
	int64_t last_us;             /* monotonic: when it was complete */
	int64_t last_wall_us;
	bool is_stopped;
};

/* --- the answer --- */

static void describe_place(const struct listing_survey_place *place, struct buffer *out)
{
	char last = buffer_data(out)[out->length - 1];

	buffer_append_string(out, last == '[' ? "{" : ",{");
	json_field_text(out, "name", str_from(place->name));
	json_field_number(out, "messages", place->messages);
	buffer_append_byte(out, '}');
}

static void describe_survey(const struct status *status, struct buffer *out)
{
	const struct listing_survey_result *result;
	size_t shown = 0;

	if (status->last == NULL)
		return;
	result = listing_survey_result(status->last);
	json_field_time(out, "counted", status->last_wall_us);
	json_field_number(out, "messages", result->messages);
	json_field_number(out, "bytes", result->bytes);
	if (result->oldest_us > 0)
		json_field_time(out, "oldest", result->oldest_us);
	if (result->unread > 0)
		json_field_number(out, "unread", result->unread);
	json_field(out, "places");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < result->place_count && shown < STATUS_PLACES_MAX; i++) {
		if (result->places[i].messages == 0)
			continue;
		describe_place(&result->places[i], out);
		shown++;
	}
	buffer_append_byte(out, ']');
}

static void answer_asker(const struct status *status, const struct asker *asker, struct str text)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, asker->question);
	pack_str(&body, text);
	helpers_tell(status->helpers, asker->service, IPC_JOB_STATUS_IS, buffer_view(&body));
}

static void describe_queue(const struct status *status, struct buffer *out)
{
	buffer_append_byte(out, '{');
	describe_survey(status, out);
	status->handler->describe(status->context, out);
	buffer_append_byte(out, '}');
}

/* --- about a message --- */

static void append_message_line(void *receiver, struct str line)
{
	struct buffer *lines = receiver;

	buffer_append_str(lines, line);
	buffer_append_byte(lines, '\n');
}

/* The latest of LINES that fit, each as a text. */
static void describe_lines(struct str lines, struct buffer *out)
{
	struct str line;
	bool is_first = true;

	while (lines.length > STATUS_LINES_MAX)
		(void)str_split(&lines, '\n', &line);
	json_field(out, "lines");
	buffer_append_byte(out, '[');
	while (lines.length > 0 && str_split(&lines, '\n', &line)) {
		buffer_append_string(out, is_first ? "" : ",");
		json_append_text(out, line);
		is_first = false;
	}
	buffer_append_byte(out, ']');
}

static void describe_message(const struct status *status, int64_t born_us, struct buffer *out)
{
	const struct listing_survey *survey = status->last_born_us == born_us   ? status->last
					      : status->next_born_us == born_us ? status->next
										: NULL;
	const struct listing_survey_found *found = NULL;
	struct buffer lines CLEANUP(buffer_clear) = {0};
	size_t count = survey != NULL ? listing_survey_found(survey, &found) : 0;

	status->handler->describe_message(status->context, born_us, found, count,
					  append_message_line, &lines);
	buffer_append_byte(out, '{');
	json_field(out, "message");
	buffer_append_byte(out, '{');
	json_field(out, "searched");
	buffer_append_string(out, survey != NULL && survey == status->last ? "true" : "false");
	describe_lines(buffer_view(&lines), out);
	buffer_append_string(out, "}}");
}

/* --- all who ask --- */

static void bound_answer(struct buffer *out)
{
	if (out->length <= IPC_JOB_STATUS_MAX)
		return;
	buffer_reset(out);
	buffer_append_byte(out, '{');
	json_field_text(out, "problem", STR("what is known of the queue is too long"));
	buffer_append_byte(out, '}');
}

static void answer_all_askers(void *context)
{
	struct status *status = context;

	os_timer_stop(status->patience);
	for (size_t i = 0; i < status->asker_count; i++) {
		struct buffer text CLEANUP(buffer_clear) = {0};

		if (status->askers[i].born_us > 0)
			describe_message(status, status->askers[i].born_us, &text);
		else
			describe_queue(status, &text);
		bound_answer(&text);
		answer_asker(status, &status->askers[i], buffer_view(&text));
	}
	status->asker_count = 0;
}

/* --- the survey --- */

static void end_status_survey(struct status *status, int error)
{
	if (error < 0) {
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "survey"), log_error(error));
		listing_survey_free(status->next);
	} else {
		listing_survey_free(status->last);
		status->last = status->next;
		status->last_born_us = status->next_born_us;
		status->last_us = os_clock_monotonic_us();
		status->last_wall_us = os_clock_wall_us();
	}
	status->next = NULL;
	status->next_born_us = 0;
	answer_all_askers(status);
}

static void on_survey_slice(void *context)
{
	struct status *status = context;
	int64_t until_us = os_clock_monotonic_us() + SLICE_US;
	int result;

	do
		result = listing_survey_step(status->next);
	while (result > 0 && os_clock_monotonic_us() < until_us);
	if (result > 0)
		os_timer_start(status->slice, PAUSE_US);
	else
		end_status_survey(status, result);
}

/* Whether the last survey answers who asks about a message born at BORN_US; 0: about none. */
static bool is_survey_new(const struct status *status, int64_t born_us)
{
	return status->last != NULL && (born_us == 0 || status->last_born_us == born_us) &&
	       os_clock_monotonic_us() - status->last_us < STATUS_KEPT_US;
}

/* One that looks for nothing begins anew to look for a message; while another one is looked for,
 * this one is not. */
static void begin_survey_for(struct status *status, int64_t born_us)
{
	const char *const *services;
	size_t count;

	if (status->is_stopped || is_survey_new(status, born_us) ||
	    (status->next != NULL && (born_us == 0 || status->next_born_us != 0)))
		return;
	listing_survey_free(status->next);
	count = status->handler->services(status->context, &services);
	status->next = listing_survey_new(status->store, services, count);
	status->next_born_us = born_us;
	if (born_us > 0)
		listing_survey_look_for(status->next, born_us);
	os_timer_start(status->slice, 0);
}

bool status_ask(struct status *status, const char *service, struct str body)
{
	struct unpack unpack = {body, false};
	struct asker asker = {.service = service, .question = unpack_u32(&unpack)};
	struct str message = unpack_str(&unpack);
	struct mail_id id = {0, 0};
	bool is_answered;

	if (!unpack_is_whole(&unpack) || (message.length > 0 && !mail_id_parse(message, &id)))
		return false;
	asker.born_us = id.born_us;
	if (status->asker_count == STATUS_ASKERS_MAX)
		answer_all_askers(status);
	begin_survey_for(status, asker.born_us);
	is_answered = status->next == NULL || is_survey_new(status, asker.born_us);
	if (status->asker_count == 0)
		os_timer_start(status->patience, is_answered ? 0 : STATUS_PATIENCE_US);
	status->askers[status->asker_count++] = asker;
	return true;
}

/* --- its life --- */

struct status *status_new(struct os_loop *loop, struct queue_store *store, struct helpers *helpers,
			  const struct status_handler *handler, void *context)
{
	struct status *status = memory_alloc_zero(1, sizeof *status);

	status->loop = loop;
	status->store = store;
	status->helpers = helpers;
	status->handler = handler;
	status->context = context;
	status->patience = os_timer_new(loop, answer_all_askers, status);
	status->slice = os_timer_new(loop, on_survey_slice, status);
	return status;
}

void status_stop(struct status *status)
{
	status->is_stopped = true;
	os_timer_stop(status->slice);
	listing_survey_free(status->next);
	status->next = NULL;
}

void status_free(struct status *status)
{
	status_stop(status);
	listing_survey_free(status->last);
	os_timer_free(status->patience);
	os_timer_free(status->slice);
	free(status);
}
