// SPDX-License-Identifier: ISC
#include "manager/link/reporter.h"
#include "base/checksum.h"
#include "base/panic.h"
#include "bounce/report.h"
#include "log/event.h"
#include "mail/verp.h"
#include "manager/notice.h"
#include "os/clock.h"
#include "queue/client/client.h"
#include "queue/update.h"
#include <errno.h>
#include <stdlib.h>

enum { STOCK = 2 }; /* data files requested ahead of time */

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
	bool is_utf8; /* it must be sent with SMTPUTF8 */
	struct queue_client_message queue;
	struct os_task open_task;
	struct mail_envelope *envelope;
	struct buffer content;
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

/* -EBADMSG: a disk has changed the data. */
static int check_original(const struct reporter *reporter, const struct report_subject *subject,
			  const enum mail_stage *place)
{
	uint32_t checksum = 0;
	int file = queue_update_open_data(reporter->store, place, subject->id.number);
	int error = file < 0 ? file
			     : queue_update_checksum_data(file, subject->control->envelope->size,
							  &checksum);

	os_file_close(file);
	return error == 0 && !queue_control_has_data(subject->control, checksum) ? -EBADMSG : error;
}

static int read_original_for_report(const struct reporter *reporter,
				    const struct report_subject *subject, struct buffer *out)
{
	enum mail_stage stage = (enum mail_stage)subject->facts.stage;
	const enum mail_stage *place = message_facts_are_s4(subject->facts) ? &stage : NULL;
	bool is_sound = subject->is_sound || !subject->control->has_checksum;
	int error = is_sound ? 0 : check_original(reporter, subject, place);

	if (error == 0)
		error = queue_update_read_beginning(
			reporter->store, place, subject->id.number,
			notice_original_max(subject->control, reporter->config), out);
	/* what is read whole is compared, also if it was sound before */
	if (error == 0 && out->length == subject->control->envelope->size &&
	    !queue_control_has_data(subject->control,
				    checksum_extend(0, buffer_data(out), out->length))) {
		buffer_reset(out);
		error = -EBADMSG;
	}
	return error;
}

static int write_report_text(const struct reporter *reporter, const struct report_subject *subject,
			     struct notice notice, struct report *report)
{
	struct buffer original CLEANUP(buffer_clear) = {0};
	int error = read_original_for_report(reporter, subject, &original);

	/* if the data of a message are lost, or are not those that its sender knows, the report is
	 * all that is left to send */
	if (error != 0 && error != -ENODATA && error != -EBADMSG)
		return error;
	notice.original = buffer_view(&original);
	notice.now_us = os_clock_wall_us();
	report->is_utf8 =
		notice_write(&notice, subject->control, reporter->config, &report->content);
	return 0;
}

/* --- queueing it --- */

static void commit_report(struct report *report)
{
	struct mail_envelope *envelope = report->envelope;

	envelope->id = (struct mail_id){report->queue.number, os_clock_wall_us()};
	envelope->size = report->content.length;
	queue_client_commit(&report->queue, envelope, buffer_view(&report->content));
}

static void log_queued_report(const struct report *report)
{
	char id[MAIL_ID_SIZE];

	mail_id_format(report->envelope->id, id);
	log_event_like(log_write, report->is_failure ? EVENT_BOUNCED : EVENT_NOTIFIED,
		       EVENT_BOUNCED, log_id(report->subject), log_string(bounce, id),
		       log_str(to, report->envelope->recipients[0].address));
}

static void on_report_queue_done(void *context, int result)
{
	struct report *report = context;
	struct reporter *reporter = report->reporter;
	struct message *message = report->message;
	enum report_kind kind = report->kind;

	if (result == 0 && report->queue.state == QUEUE_CLIENT_OPEN) {
		commit_report(report);
		return;
	}
	if (result == 0)
		log_queued_report(report);
	report_abandon(report);
	reporter->reported(reporter->context, message, kind, result);
}

/* At the end of the turn: it may be refused at once, before the caller is ready to be called. */
static void open_soon(void *context)
{
	struct report *report = context;

	queue_client_open(report->reporter->queue, &report->queue);
}

/* False: nothing is reported. */
static bool find_notice(const struct reporter *reporter, const struct report_subject *subject,
			enum report_kind kind, struct notice *notice)
{
	struct str original = subject->control->envelope->sender;

	if (kind == REPORT_OF_DELAY) {
		notice->outcomes = notice_collect_delay(subject->control, reporter->config,
							subject->now_us, &notice->count);
		notice->sender = STR("");
		notice->recipient = mail_verp_whole(original);
		return notice->count > 0;
	}
	notice->outcomes = notice_collect_end(subject->control, reporter->config, &notice->count);
	return notice->count > 0 && bounce_route(original, reporter->config, &notice->sender,
						 &notice->recipient) == BOUNCE_SEND;
}

bool reporter_has_end(struct reporter *reporter, const struct report_subject *subject)
{
	struct notice notice;

	if (find_notice(reporter, subject, REPORT_OF_END, &notice))
		return true;
	if (notice.count > 0)
		log_event(EVENT_BOUNCE_DROPPED, log_id(subject->id),
			  log_from(subject->control->envelope->sender));
	return false;
}

int reporter_start(struct reporter *reporter, struct message *message,
		   const struct report_subject *subject, enum report_kind kind,
		   struct report **report_out)
{
	struct report *report;
	struct notice notice;
	int error;

	if (!find_notice(reporter, subject, kind, &notice))
		panic("a report on a message that nobody is told of");
	report = memory_alloc_zero(1, sizeof *report);
	report->reporter = reporter;
	error = write_report_text(reporter, subject, notice, report);
	if (error < 0) {
		report_abandon(report);
		return error;
	}
	report->message = message;
	report->subject = subject->id;
	report->kind = kind;
	for (size_t i = 0; i < notice.count; i++)
		report->is_failure |= notice.outcomes[i].action == BOUNCE_FAILED;
	report->envelope = notice_envelope(&notice, report->is_utf8);
	report->envelope->require_tls = subject->control->envelope->require_tls;
	report->envelope->priority = subject->control->envelope->priority;
	report->queue.done = on_report_queue_done;
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
	queue_client_use_reserve(reporter->queue);
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
