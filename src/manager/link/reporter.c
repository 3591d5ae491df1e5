// SPDX-License-Identifier: ISC
#include "manager/link/reporter.h"
#include "base/panic.h"
#include "bounce/report.h"
#include "log/event.h"
#include "mail/verp.h"
#include "manager/notice.h"
#include "os/clock.h"
#include "queue/client.h"
#include "queue/update.h"
#include <errno.h>
#include <stdlib.h>

enum { STOCK = 2 }; /* data files that are asked for ahead */

struct reporter {
	struct os_loop *loop;
	struct queue_store *store;
	const struct config *config;
	struct queue_client *queue;
	void (*reported)(void *context, struct message *message, enum report_kind kind, int result);
	void *context;
};

struct report {
	struct reporter *reporter;
	struct message *message;
	struct mail_id subject;
	enum report_kind kind;
	bool is_failure;
	struct queue_client_message queue;
	struct os_task open_task;
	struct mail_envelope *envelope;
	struct buffer content;
};

/* To whom it goes and about what. */
struct address {
	struct str sender;
	struct str recipient;
	const struct bounce_outcome *outcomes;
	size_t count;
};

void report_abandon(struct report *report)
{
	if (report == NULL)
		return;
	os_task_cancel(report->reporter->loop, &report->open_task);
	queue_client_abandon(&report->queue);
	mail_envelope_free(report->envelope);
	buffer_clear(&report->content);
	free(report);
}

/* --- its text --- */

/* As much of the original as may be returned. */
static int read_original(const struct reporter *reporter, const struct report_subject *subject,
			 struct buffer *out)
{
	enum { MORE = 65536 };
	enum mail_stage stage = (enum mail_stage)subject->facts.stage;
	uint64_t limit = subject->control->envelope->size;

	if (reporter->config->bouncemaxbytes > 0 && limit > reporter->config->bouncemaxbytes + MORE)
		limit = reporter->config->bouncemaxbytes + MORE;
	return queue_update_read_beginning(reporter->store,
					   message_facts_are_s4(subject->facts) ? &stage : NULL,
					   subject->id.number, limit, out);
}

static int write_text(const struct reporter *reporter, const struct report_subject *subject,
		      const struct address *address, struct buffer *content)
{
	const struct config *config = reporter->config;
	const struct mail_envelope *envelope = subject->control->envelope;
	struct buffer original CLEANUP(buffer_clear) = {0};
	int error = read_original(reporter, subject, &original);
	const struct bounce_report text = {
		.recipient = address->recipient,
		.hostname = str_from(config->hostname),
		.from = str_from(config->bouncefrom),
		.id = envelope->id,
		.now_us = os_clock_wall_us(),
		.retry_until_us = envelope->id.born_us + config->queuelifetime_us,
		.envid = envelope->envid,
		.ret = envelope->ret,
		.outcomes = address->outcomes,
		.outcome_count = address->count,
		.message = buffer_view(&original),
		.message_size = envelope->size,
		.max_bytes = config->bouncemaxbytes,
	};

	/* of a message that has lost its data the report is all that is left to be sent */
	if (error != 0 && error != -ENODATA)
		return error;
	bounce_report_write(&text, content);
	return 0;
}

/* --- queueing it --- */

static void commit(struct report *report)
{
	struct mail_envelope *envelope = report->envelope;

	envelope->id = (struct mail_id){report->queue.number, os_clock_wall_us()};
	envelope->size = report->content.length;
	queue_client_commit(&report->queue, envelope, buffer_view(&report->content));
}

static void log_queued(const struct report *report)
{
	char id[MAIL_ID_SIZE];

	mail_id_format(report->envelope->id, id);
	log_event(report->is_failure ? EVENT_BOUNCED : EVENT_NOTIFIED, log_id(report->subject),
		  log_string("bounce", id), log_str("to", report->envelope->recipients[0].address));
}

static void on_queue_done(void *context, int result)
{
	struct report *report = context;
	struct reporter *reporter = report->reporter;
	struct message *message = report->message;
	enum report_kind kind = report->kind;

	if (result == 0 && report->queue.state == QUEUE_CLIENT_OPEN) {
		commit(report);
		return;
	}
	if (result == 0)
		log_queued(report);
	report_abandon(report);
	reporter->reported(reporter->context, message, kind, result);
}

/* At the end of the turn: it may be refused at once, and whoever began it is not ready to hear. */
static void open_soon(void *context)
{
	struct report *report = context;

	queue_client_open(report->reporter->queue, &report->queue);
}

/* False: nobody is told. */
static bool find_address(const struct reporter *reporter, const struct report_subject *subject,
			 enum report_kind kind, struct address *address)
{
	struct str original = subject->control->envelope->sender;

	if (kind == REPORT_OF_DELAY) {
		address->outcomes =
			notice_collect_delay(subject->control, reporter->config, &address->count);
		address->sender = STR("");
		address->recipient = mail_verp_whole(original);
		return address->count > 0;
	}
	address->outcomes = notice_collect_end(subject->control, &address->count);
	return address->count > 0 && bounce_route(original, reporter->config, &address->sender,
						  &address->recipient) == BOUNCE_SEND;
}

bool reporter_has_end(struct reporter *reporter, const struct report_subject *subject)
{
	struct address address;

	if (find_address(reporter, subject, REPORT_OF_END, &address))
		return true;
	if (address.count > 0)
		log_event(EVENT_BOUNCE_DROPPED, log_id(subject->id),
			  log_str("from", subject->control->envelope->sender));
	return false;
}

static struct mail_envelope *make_envelope(const struct address *address)
{
	struct mail_envelope *envelope = mail_envelope_new();

	envelope->stage = MAIL_STAGE_SUBMIT;
	envelope->sender = arena_copy_str(envelope->arena, address->sender);
	envelope->received = STR("bounce");
	mail_envelope_add(envelope, address->recipient);
	return envelope;
}

int reporter_start(struct reporter *reporter, struct message *message,
		   const struct report_subject *subject, enum report_kind kind,
		   struct report **report_out)
{
	struct report *report;
	struct address address;
	int error;

	if (!find_address(reporter, subject, kind, &address))
		panic("a report on a message that nobody is told of");
	report = memory_alloc_zero(1, sizeof *report);
	report->reporter = reporter;
	error = write_text(reporter, subject, &address, &report->content);
	if (error < 0) {
		report_abandon(report);
		return error;
	}
	report->message = message;
	report->subject = subject->id;
	report->kind = kind;
	for (size_t i = 0; i < address.count; i++)
		report->is_failure |= address.outcomes[i].action == BOUNCE_FAILED;
	report->envelope = make_envelope(&address);
	report->queue.done = on_queue_done;
	report->queue.context = report;
	report->open_task = (struct os_task){.call = open_soon, .context = report};
	*report_out = report;
	os_loop_defer(reporter->loop, &report->open_task);
	return 0;
}

/* --- itself --- */

struct reporter *reporter_new(struct os_loop *loop, struct queue_store *store,
			      const char *queue_path, const struct config *config,
			      void (*reported)(void *context, struct message *message,
					       enum report_kind kind, int result),
			      void *context)
{
	struct reporter *reporter = memory_alloc_zero(1, sizeof *reporter);

	reporter->loop = loop;
	reporter->store = store;
	reporter->config = config;
	reporter->queue = queue_client_new(loop, queue_path, STOCK);
	reporter->reported = reported;
	reporter->context = context;
	return reporter;
}

void reporter_configure(struct reporter *reporter, const struct config *config)
{
	reporter->config = config;
}

void reporter_free(struct reporter *reporter)
{
	queue_client_free(reporter->queue);
	free(reporter);
}
