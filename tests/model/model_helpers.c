// SPDX-License-Identifier: ISC
/*
 * Helpers and resolve: they do what a recipient's domain says, and sometimes die, stand still or
 * lie. "fast" and "local" take all; "slow" does so late; "grey" refuses at first; "dead" is not
 * reached; "wait" waits for an event; "none" has no such user.
 */
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/job.h"
#include "ipc/listener.h"
#include "model.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 64, QUESTIONS = 4096 };

struct pretended_job {
	uint32_t tag;
	uint64_t number;
	uint32_t count;
	bool has_turn;
	bool has_session;
	char sender[96];
	char destination[64];
	uint32_t deliveries[IPC_JOB_RECIPIENTS_MAX];
	char kinds[IPC_JOB_RECIPIENTS_MAX];
	bool is_reported[IPC_JOB_RECIPIENTS_MAX];
};

struct pretended_question {
	uint64_t number;
	uint32_t question;
	uint32_t count;
	uint32_t recipients[IPC_JOB_RECIPIENTS_MAX];
	char addresses[8][64];
};

/* One end of a connection; the manager has the other. */
struct ipc_channel {
	const struct ipc_channel_handler *handler;
	void *context;
	struct pretended *helper;
};

static struct pretended {
	const char *service;
	uint32_t places;
	struct ipc_channel *channel; /* NULL: not connected */
	struct pretended_job jobs[JOBS];
	size_t job_count;
	struct pretended_question *questions;
	size_t question_count;
	bool is_asked_back;
	unsigned times_asked_back;
} helpers[MODEL_HELPERS] = {{"remote", 8, NULL, {{0}}, 0, NULL, 0, false, 0},
			    {"remote", 3, NULL, {{0}}, 0, NULL, 0, false, 0},
			    {"local", 4, NULL, {{0}}, 0, NULL, 0, false, 0},
			    {"extra", 2, NULL, {{0}}, 0, NULL, 0, false, 0},
			    {"resolve", 1, NULL, {{0}}, 0, NULL, 0, false, 0},
			    {"list", 2, NULL, {{0}}, 0, NULL, 0, false, 0}}; /* only in scenes */

const struct model_sessions *model_sessions;

/* Its number among those that count sessions; false: it does not. */
static bool counts(const struct pretended *helper, size_t *number_out)
{
	*number_out = (size_t)(helper - helpers);
	return model_sessions != NULL && *number_out < model_sessions->count;
}

/* The job is over. */
static void drop_job(struct pretended *helper, size_t index)
{
	size_t number;

	if (counts(helper, &number))
		model_sessions->end(number, helper->jobs[index].tag);
	helper->jobs[index] = helper->jobs[--helper->job_count];
}

static void (*accepted)(void *context, int socket);
static void *accepted_context;

struct ipc_listener *ipc_listener_new(struct os_loop *loop, int listening,
				      void (*call)(void *context, int socket), void *context)
{
	model_check_loop(loop);
	(void)listening;
	accepted = call;
	accepted_context = context;
	return NULL;
}

void ipc_listener_free(struct ipc_listener *listener)
{
	(void)listener;
}

struct ipc_channel *ipc_channel_new(struct os_loop *loop, int socket,
				    const struct ipc_channel_handler *handler, void *context)
{
	struct ipc_channel *channel = memory_alloc_zero(1, sizeof *channel);

	model_check_loop(loop);
	*channel = (struct ipc_channel){handler, context, &helpers[socket]};
	helpers[socket].channel = channel;
	return channel;
}

static void forget_jobs(struct pretended *helper)
{
	size_t number;

	for (size_t i = 0; i < helper->job_count; i++) {
		struct model_message *m = model_find(helper->jobs[i].number);

		for (uint32_t j = 0; m != NULL && j < helper->jobs[i].count; j++)
			if (m->flight[helper->jobs[i].deliveries[j]] == helper)
				m->flight[helper->jobs[i].deliveries[j]] = NULL;
	}
	if (counts(helper, &number))
		model_sessions->drop(number);
	helper->job_count = 0;
	helper->question_count = 0;
	helper->is_asked_back = false;
}

void ipc_channel_close(struct ipc_channel *channel)
{
	if (channel == NULL)
		return;
	forget_jobs(channel->helper);
	channel->helper->channel = NULL;
	free(channel);
}

void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type)
{
	(void)channel;
	model_fail("message %u of \"queue\" is refused", type);
}

void ipc_channel_set_peer(struct ipc_channel *channel, const char *name)
{
	(void)channel;
	(void)name;
}

void ipc_channel_log_refused(const struct ipc_channel *channel, uint16_t type)
{
	(void)channel;
	(void)type;
}

size_t ipc_channel_backlog(const struct ipc_channel *channel)
{
	(void)channel;
	return 0;
}

/* --- what the manager says --- */

static void check_start(struct pretended *helper, struct model_message *m, uint32_t delivery)
{
	if (m == NULL || delivery == 0 || delivery > m->recipients)
		model_fail("a delivery that does not exist is started");
	if (m->flight[delivery] != NULL)
		model_fail("delivery %u of %" PRIu64 " is started twice at the same time", delivery,
			   m->id.number);
	if (m->decided[delivery] != 0)
		model_fail("delivery %u of %" PRIu64 " is started though it was decided", delivery,
			   m->id.number);
	if (m->is_held)
		model_fail("delivery %u of %" PRIu64 " is started though it is held", delivery,
			   m->id.number);
	if (m->is_given_up)
		model_fail("delivery %u of %" PRIu64 " is started though it was given up", delivery,
			   m->id.number);
	if (model_is_early(m))
		model_fail("delivery %u of %" PRIu64 " is started before its release", delivery,
			   m->id.number);
	if (model_is_late(m))
		model_fail("delivery %u of %" PRIu64 " is started after its sender's time",
			   delivery, m->id.number);
	m->flight[delivery] = helper;
}

/* A message is started once more, DESTINATION's COUNTth: its transport's limits as they are now. */
static void check_limits(const struct pretended *helper, struct str destination)
{
	uint32_t in_flight = 0;
	uint32_t there = 0;

	for (size_t i = 0; i < MODEL_HELPERS; i++)
		for (size_t j = 0; j < helpers[i].job_count; j++) {
			bool is_same = strcmp(helpers[i].service, helper->service) == 0;

			in_flight += is_same;
			there += is_same &&
				 str_equal(str_from(helpers[i].jobs[j].destination), destination);
		}
	for (size_t i = 0; i < model_config->transport_count; i++) {
		const struct config_transport *transport = &model_config->transports[i];

		if (strcmp(transport->name, helper->service) != 0)
			continue;
		if (transport->paused)
			model_fail("%s is paused and gets a job", transport->name);
		if (in_flight >= transport->concurrency ||
		    (strcmp(transport->name, "remote") == 0 &&
		     there >= transport->destination_concurrency))
			model_fail("%s gets more than is configured", transport->name);
	}
}

static char kind_of(struct str address)
{
	ptrdiff_t at = str_find(address, '@');

	return at >= 0 && address.length > (size_t)at + 1 ? address.data[at + 1] : 'f';
}

static void on_start(struct pretended *helper, uint32_t tag, struct str text, bool has_file)
{
	struct unpack body = {text, false};
	struct pretended_job *job = &helper->jobs[helper->job_count];
	struct model_message *m;
	struct str sender;
	struct str destination;

	if (helper->job_count == helper->places)
		model_fail("%s gets more than it has places for", helper->service);
	*job = (struct pretended_job){.tag = tag, .number = unpack_u64(&body)};
	(void)unpack_u64(&body);
	sender = unpack_str(&body);
	if ((unpack_u64(&body) > QUEUE_BY_VALUE_MAX) != has_file)
		model_fail("the file of %" PRIu64 " is %sgiven away", job->number,
			   has_file ? "" : "not ");
	(void)unpack_u32(&body);
	job->has_turn = (unpack_u32(&body) & IPC_JOB_TURN) != 0;
	(void)unpack_u64(&body);
	(void)unpack_u32(&body);
	(void)unpack_str(&body);
	destination = unpack_str(&body);
	(void)unpack_str(&body);
	check_limits(helper, destination);
	snprintf(job->destination, sizeof job->destination, STR_FORMAT, STR_ARGUMENTS(destination));
	snprintf(job->sender, sizeof job->sender, STR_FORMAT, STR_ARGUMENTS(sender));
	job->count = unpack_u32(&body);
	m = model_find(job->number);
	for (uint32_t i = 0; i < job->count; i++) {
		job->deliveries[i] = unpack_u32(&body);
		(void)unpack_u32(&body);
		job->kinds[i] = kind_of(unpack_str(&body));
		(void)unpack_str(&body);
		(void)unpack_str(&body);
		check_start(helper, m, job->deliveries[i]);
	}
	model_check_told(m, text);
	if (m->is_verp && (job->count != 1 || str_find(sender, '[') >= 0))
		model_fail("a job of %" PRIu64 " has %u recipients and one sender", m->id.number,
			   job->count);
	helper->job_count++;
}

static void on_resolve(struct pretended *helper, struct str text)
{
	struct unpack body = {text, false};

	while (body.rest.length > 0) {
		struct pretended_question *question;

		if (helper->questions == NULL)
			helper->questions = memory_alloc(QUESTIONS * sizeof *helper->questions);
		if (helper->question_count == QUESTIONS)
			model_fail("too many questions");
		question = &helper->questions[helper->question_count++];
		question->number = unpack_u64(&body);
		question->question = unpack_u32(&body);
		(void)unpack_str(&body);
		question->count = unpack_u32(&body);
		for (uint32_t i = 0; i < question->count; i++) {
			struct str address;

			question->recipients[i] = unpack_u32(&body);
			address = unpack_str(&body);
			snprintf(question->addresses[i], sizeof question->addresses[i], STR_FORMAT,
				 STR_ARGUMENTS(address));
		}
	}
}

static void note_await(struct pretended *helper)
{
	helper->is_asked_back = true;
	helper->times_asked_back++;
}

bool model_queue_hears(const struct ipc_channel *channel, uint16_t type, struct str body);

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct pretended *helper;

	(void)descriptors;
	if (model_queue_hears(channel, type, body))
		return;
	helper = channel->helper;
	if (type == IPC_JOB_START)
		on_start(helper, tag, body, descriptor_count > 0);
	else if (type == IPC_JOB_RESOLVE)
		on_resolve(helper, body);
	else if (type == IPC_JOB_AWAIT)
		note_await(helper);
	else if (type != IPC_JOB_DRAIN && type != IPC_JOB_CONTENT)
		model_fail("a helper is told %u", type);
}

/* --- what they do --- */

static void say(struct pretended *helper, enum ipc_job type, uint32_t tag, struct str body)
{
	struct ipc_message message = {.type = (uint16_t)type, .tag = tag, .body = body};

	if (helper->channel != NULL)
		helper->channel->handler->message(helper->channel->context, helper->channel,
						  &message);
	model_run_tasks();
}

static void say_hello(int i, const char *token)
{
	struct buffer body = {0};
	const struct ipc_job_hello hello = {str_from(helpers[i].service), helpers[i].places,
					    str_from(token)};

	accepted(accepted_context, i);
	ipc_job_add_hello(&body, &hello);
	say(&helpers[i], IPC_JOB_HELLO, 0, buffer_view(&body));
	buffer_clear(&body);
}

void model_connect_helpers(void)
{
	for (int i = 0; i < MODEL_HELPERS; i++) {
		size_t number;

		if (helpers[i].channel != NULL)
			continue;
		if (counts(&helpers[i], &number))
			model_sessions->connect(number);
		if (model_once_in(10)) {
			say_hello(i, "guess");
			if (helpers[i].channel != NULL)
				model_fail("somebody is a helper without its token");
		}
		say_hello(i, "token");
	}
}

static void lose(struct pretended *helper)
{
	size_t number;

	if (counts(helper, &number))
		model_sessions->lose(number);
	if (helper->channel != NULL)
		helper->channel->handler->lost(helper->channel->context, helper->channel);
	model_run_tasks();
}

void model_lose_helper(void)
{
	lose(&helpers[model_random(MODEL_HELPERS)]);
}

static struct ipc_job_report report_of(char kind, uint32_t number, bool peace)
{
	struct ipc_job_report report = {
		.number = number, .status = STR("2.0.0"), .text = STR("ok")};

	if (kind == 'f' && model_once_in(3))
		report.flags = IPC_JOB_PASSED_ON;
	if (model_once_in(3))
		report.flags |= IPC_JOB_TIMED;
	if (kind == 'n')
		report.status = STR("5.1.1");
	else if (!peace && kind == 'w')
		report = (struct ipc_job_report){number, 0, STR("4.4.1"), STR("not yet"),
						 STR("host.event")};
	else if (!peace && (kind == 'd' || (kind == 's' && model_once_in(4))))
		report = (struct ipc_job_report){number, 0, STR("4.4.1"), STR("not reached"),
						 kind == 'd' ? STR("host.dead") : STR("")};
	else if (!peace && kind == 'g' && !model_once_in(3))
		report.status = STR("4.7.1");
	return report;
}

static void decide_delivery(struct model_message *m, uint32_t delivery, char status)
{
	if (status == '4')
		return;
	if (m->decided[delivery] != 0)
		model_fail("delivery %u of %" PRIu64 " is decided twice", delivery, m->id.number);
	m->decided[delivery] = status;
}

/* Reports on some of the job's deliveries; WHOLE: on all, and it is over. */
static void report(struct pretended *helper, size_t index, bool whole, bool peace)
{
	struct pretended_job *job = &helper->jobs[index];
	struct model_message *m = model_find(job->number);
	uint32_t tag = job->tag;
	struct buffer body = {0};

	for (uint32_t i = 0; i < job->count; i++) {
		struct ipc_job_report text;

		if (job->is_reported[i] || (!whole && model_once_in(2)))
			continue;
		if (whole && !peace && model_once_in(100))
			continue; /* it forgets one */
		job->is_reported[i] = true;
		text = report_of(job->kinds[i], job->deliveries[i], peace);
		m->is_passed_on[job->deliveries[i]] = (text.flags & IPC_JOB_PASSED_ON) != 0;
		model_note_sent(m, job->deliveries[i], helper->service,
				(text.flags & IPC_JOB_TIMED) != 0);
		ipc_job_add_report(&body, &text);
		decide_delivery(m, job->deliveries[i], text.status.data[0]);
	}
	if (whole) {
		for (uint32_t i = 0; i < job->count; i++)
			m->flight[job->deliveries[i]] = NULL;
		drop_job(helper, index);
	}
	if (whole || body.length > 0)
		say(helper, whole ? IPC_JOB_FINISH : IPC_JOB_REPORT, tag, buffer_view(&body));
	buffer_clear(&body);
}

/* A session with its host, if they are counted. False: there is no place; then the job is over. */
static bool has_place(struct pretended *helper, size_t index)
{
	struct pretended_job *job = &helper->jobs[index];
	struct model_message *m = model_find(job->number);
	struct buffer body = {0};
	uint32_t tag = job->tag;
	const char *trigger;
	size_t number;

	if (!counts(helper, &number) || job->has_session)
		return true;
	job->has_session = model_sessions->begin(number, job->tag, job->destination, job->has_turn);
	if (job->has_session)
		return true;
	trigger = model_sessions->refused_by(number, job->destination);
	for (uint32_t i = 0; i < job->count; i++) {
		const struct ipc_job_report text = {job->deliveries[i], 0, STR("4.4.5"),
						    STR("no place"), str_from(trigger)};

		m->flight[job->deliveries[i]] = NULL;
		ipc_job_add_report(&body, &text);
	}
	m->reads -= m->reads > 0; /* it had a reason */
	drop_job(helper, index);
	say(helper, IPC_JOB_FINISH, tag, buffer_view(&body));
	buffer_clear(&body);
	return false;
}

/* The job is over; what was not reported was not tried. */
static void be_busy(struct pretended *helper, size_t index, uint32_t wait_ms)
{
	struct pretended_job *job = &helper->jobs[index];
	struct model_message *m = model_find(job->number);
	const struct ipc_job_busy busy = {wait_ms, (uint32_t)model_random(IPC_JOB_BUSY_FLAGS + 1),
					  STR("enough for now")};
	struct buffer body = {0};
	uint32_t tag = job->tag;

	for (uint32_t i = 0; i < job->count; i++)
		m->flight[job->deliveries[i]] = NULL;
	drop_job(helper, index);
	ipc_job_add_busy(&body, &busy);
	say(helper, IPC_JOB_BUSY, tag, buffer_view(&body));
	buffer_clear(&body);
}

/* A report that was given once is given again, and says otherwise. */
static void repeat(struct pretended *helper, size_t index)
{
	struct pretended_job *job = &helper->jobs[index];
	struct buffer body = {0};

	for (uint32_t i = 0; i < job->count; i++) {
		const struct ipc_job_report again = {job->deliveries[i], 0, STR("5.0.0"),
						     STR("again"), STR("")};

		if (job->is_reported[i] && body.length == 0)
			ipc_job_add_report(&body, &again);
	}
	if (body.length > 0)
		say(helper, IPC_JOB_REPORT, job->tag, buffer_view(&body));
	buffer_clear(&body);
}

/* About a delivery or a job that is not its own, or what is no report. */
static void lie(struct pretended *helper)
{
	struct buffer body = {0};
	const struct ipc_job_report text = {99, 0, STR("2.0.0"), STR("lie"), STR("")};

	ipc_job_add_report(&body, &text);
	if (model_once_in(2))
		buffer_append_string(&body, "garbage");
	say(helper, IPC_JOB_REPORT,
	    helper->job_count > 0 ? helper->jobs[0].tag : (uint32_t)model_random(1000),
	    buffer_view(&body));
	buffer_clear(&body);
}

/* A trigger that is not for a helper of its kind to set ends the connection. */
static void hold_others_back(struct pretended *helper)
{
	static const char *const triggers[] = {"hold.1-1", "directory", "service.extra",
					       "pipe.extra.x", "x"};
	struct pretended_job *job = &helper->jobs[0];
	const struct ipc_job_report text = {job->deliveries[0], 0, STR("4.4.1"), STR("not reached"),
					    str_from(triggers[model_random(COUNT_OF(triggers))])};
	struct buffer body = {0};

	ipc_job_add_report(&body, &text);
	say(helper, IPC_JOB_REPORT, job->tag, buffer_view(&body));
	if (helper->channel != NULL)
		model_fail("a helper for %s has set the trigger %s", helper->service,
			   text.trigger.data);
	buffer_clear(&body);
}

/* STATUS: it goes nowhere, or NULL. */
static void add_target(struct buffer *body, uint32_t recipient, const char *address,
		       const char *status)
{
	bool is_extra = strstr(address, "@extra") != NULL;
	bool is_list = strstr(address, "@list") != NULL;
	bool is_local = is_extra || is_list || strstr(address, "@local") != NULL;
	struct ipc_job_target target = {.recipient = recipient,
					.route = is_local ? QUEUE_ROUTE_LOCAL : QUEUE_ROUTE_REMOTE,
					.service = is_extra   ? STR("extra")
						   : is_list  ? STR("list")
						   : is_local ? STR("local")
							      : STR(""),
					.address = str_from(address),
					.status = STR(""),
					.text = STR("")};

	if (status != NULL) {
		target.route = QUEUE_ROUTE_NONE;
		target.service = STR("");
		target.status = str_from(status);
		target.text = STR("away");
	}
	ipc_job_add_target(body, &target);
}

static struct pretended_question take_question(struct pretended *helper)
{
	size_t which = model_random(helper->question_count);
	struct pretended_question question = helper->questions[which];

	helper->questions[which] = helper->questions[--helper->question_count];
	return question;
}

static void answer(struct pretended *helper, bool peace)
{
	struct pretended_question question = take_question(helper);
	bool is_away = !peace && model_once_in(30);
	struct ipc_job_resolved head = {question.number, question.question,
					is_away && model_once_in(2) ? IPC_JOB_RESOLVED_AWAY : 0, 1,
					question.count};
	struct buffer body = {0};

	ipc_job_add_resolved(&body, &head);
	for (uint32_t i = 0; i < question.count; i++)
		add_target(&body, question.recipients[i],
			   peace || !model_once_in(20) ? question.addresses[i] : "m@fast9.example",
			   is_away ? "4.4.3" : NULL);
	if (!peace && model_once_in(500))
		buffer_append_string(&body, "garbage");
	say(helper, IPC_JOB_RESOLVED, 0, buffer_view(&body));
	buffer_clear(&body);
}

static uint32_t some_wait_ms(void)
{
	return (uint32_t)model_random(model_once_in(20) ? IPC_JOB_BUSY_MAX_MS : 2000);
}

/* What it says of a job may come long after the session has begun. */
static void go_on(struct pretended *helper, size_t index, bool peace)
{
	bool is_new = !helper->jobs[index].has_session;

	if (has_place(helper, index) && (peace || !is_new || model_once_in(2)))
		report(helper, index, peace || !model_once_in(5), peace);
}

static void act(struct pretended *helper, bool peace)
{
	if (helper->channel == NULL)
		return;
	if (helper->is_asked_back && (peace || model_once_in(4))) {
		helper->is_asked_back = false;
		say(helper, IPC_JOB_BACK, 0, STR(""));
	}
	if (helper->question_count > 0)
		answer(helper, peace);
	else if (!peace && model_once_in(400))
		lie(helper);
	else if (!peace && helper->job_count > 0 && model_once_in(400))
		hold_others_back(helper);
	else if (!peace && helper->job_count > 0 && model_once_in(20))
		repeat(helper, model_random(helper->job_count));
	else if (!peace && helper->job_count > 0 && strcmp(helper->service, "remote") == 0 &&
		 model_once_in(5))
		be_busy(helper, model_random(helper->job_count), some_wait_ms());
	else if (helper->job_count > 0)
		go_on(helper, model_random(helper->job_count), peace);
}

void model_helper_acts(bool peace)
{
	act(&helpers[model_random(MODEL_HELPERS)], peace);
}

void model_helpers_finish_all(void)
{
	for (size_t i = 0; i < MODEL_HELPERS; i++)
		while (helpers[i].channel != NULL &&
		       helpers[i].question_count + helpers[i].job_count > 0)
			act(&helpers[i], true);
}

/* --- what a scene lets them do --- */

static struct pretended *named(const char *service)
{
	for (size_t i = 0; i < MODEL_HELPERS; i++)
		if (strcmp(helpers[i].service, service) == 0)
			return &helpers[i];
	model_fail("there is no helper for %s", service);
}

void model_lose(const char *service)
{
	for (size_t i = 0; i < MODEL_HELPERS; i++)
		if (strcmp(helpers[i].service, service) == 0)
			lose(&helpers[i]);
}

static const char *status_of(enum model_answer how, const char *address)
{
	if (how >= MODEL_AWAY)
		return "4.4.3";
	return strncmp(address, "gone@", 5) == 0 ? "5.1.1" : NULL;
}

void model_resolve(enum model_answer how)
{
	struct pretended *resolve = named("resolve");
	uint32_t copies = how == MODEL_DOUBLED ? 2 : 1;

	while (resolve->question_count > 0) {
		struct pretended_question question = take_question(resolve);
		struct ipc_job_resolved head = {question.number, question.question,
						how == MODEL_AWAY ? IPC_JOB_RESOLVED_AWAY : 0, 1,
						question.count * copies};
		struct buffer body = {0};

		ipc_job_add_resolved(&body, &head);
		for (uint32_t i = 0; i < question.count * copies; i++)
			add_target(&body, question.recipients[i / copies],
				   question.addresses[i / copies] + i % copies,
				   status_of(how, question.addresses[i / copies]));
		say(resolve, IPC_JOB_RESOLVED, 0, buffer_view(&body));
		buffer_clear(&body);
	}
}

void model_resolve_to(const char *const *targets)
{
	struct pretended *resolve = named("resolve");
	uint32_t copies = 0;

	while (targets[copies] != NULL)
		copies++;
	if (copies == 0 || resolve->question_count == 0)
		model_fail("resolve was not asked");
	while (resolve->question_count > 0) {
		struct pretended_question question = take_question(resolve);
		struct ipc_job_resolved head = {question.number, question.question, 0, 1,
						question.count * copies};
		struct buffer body = {0};

		ipc_job_add_resolved(&body, &head);
		for (uint32_t i = 0; i < question.count * copies; i++)
			add_target(&body, question.recipients[i / copies], targets[i % copies],
				   status_of(MODEL_KNOWN, targets[i % copies]));
		say(resolve, IPC_JOB_RESOLVED, 0, buffer_view(&body));
		buffer_clear(&body);
	}
}

unsigned model_asked_back(void)
{
	return named("resolve")->times_asked_back;
}

void model_directory_is_back(void)
{
	named("resolve")->is_asked_back = false;
	say(named("resolve"), IPC_JOB_BACK, 0, STR(""));
}

static struct pretended_job *job_of(const struct model_message *m, uint32_t delivery,
				    struct pretended **helper_out)
{
	for (size_t i = 0; i < MODEL_HELPERS; i++)
		for (size_t j = 0; j < helpers[i].job_count; j++)
			for (uint32_t k = 0; k < helpers[i].jobs[j].count; k++)
				if (helpers[i].jobs[j].number == m->id.number &&
				    helpers[i].jobs[j].deliveries[k] == delivery) {
					*helper_out = &helpers[i];
					return &helpers[i].jobs[j];
				}
	model_fail("delivery %u of %" PRIu64 " is not started", delivery, m->id.number);
}

void model_say_before_the_end(struct model_message *m, uint32_t delivery, const char *status)
{
	struct pretended *helper;
	struct pretended_job *job = job_of(m, delivery, &helper);
	const struct ipc_job_report text = {delivery, 0, str_from(status), STR("said"), STR("")};
	struct buffer body = {0};

	ipc_job_add_report(&body, &text);
	decide_delivery(m, delivery, status[0]);
	say(helper, IPC_JOB_REPORT, job->tag, buffer_view(&body));
	buffer_clear(&body);
}

void model_say_busy(struct model_message *m, uint32_t delivery, uint32_t wait_ms)
{
	struct pretended *helper;
	struct pretended_job *job = job_of(m, delivery, &helper);

	be_busy(helper, (size_t)(job - helper->jobs), wait_ms);
}

void model_say(struct model_message *m, uint32_t delivery, const char *status, const char *trigger)
{
	struct pretended *helper;
	struct pretended_job *job = job_of(m, delivery, &helper);
	uint32_t tag = job->tag;
	struct buffer body = {0};
	uint32_t left = 0;

	for (uint32_t i = 0; i < job->count; i++) {
		job->is_reported[i] |= job->deliveries[i] == delivery;
		left += !job->is_reported[i];
	}
	if (status != NULL) {
		const struct ipc_job_report text = {delivery, 0, str_from(status), STR("said"),
						    str_from(trigger)};

		ipc_job_add_report(&body, &text);
		model_note_sent(m, delivery, helper->service, false);
		decide_delivery(m, delivery, status[0]);
	}
	for (uint32_t i = 0; left == 0 && i < job->count; i++)
		m->flight[job->deliveries[i]] = NULL;
	if (left == 0)
		drop_job(helper, (size_t)(job - helper->jobs));
	say(helper, left == 0 ? IPC_JOB_FINISH : IPC_JOB_REPORT, tag, buffer_view(&body));
	buffer_clear(&body);
}

const char *model_sender_of(const struct model_message *m, uint32_t delivery)
{
	struct pretended *helper;

	return job_of(m, delivery, &helper)->sender;
}

const char *model_destination_of(const struct model_message *m, uint32_t delivery)
{
	struct pretended *helper;

	return job_of(m, delivery, &helper)->destination;
}
