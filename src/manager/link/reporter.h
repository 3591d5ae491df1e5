// SPDX-License-Identifier: ISC
/*
 * manager/link/reporter.h - writes reports to senders and queues them: of failures and
 * successes at the end of a message, and of its delay (bounce/report.h).
 */
#ifndef MANAGER_LINK_REPORTER_H
#define MANAGER_LINK_REPORTER_H

#include "config/config.h"
#include "manager/wait/facts.h"
#include "os/loop.h"
#include "queue/control/control.h"
#include "queue/store.h"

struct reporter;
struct report;
struct message;

enum report_kind { REPORT_OF_END, REPORT_OF_DELAY };

/* What a report is about. */
struct report_subject {
	struct mail_id id;
	struct message_facts facts;          /* where it is */
	const struct queue_control *control; /* borrowed until it is reported or abandoned */
	int64_t now_us;                      /* of a delay: which are reported */
	bool is_sound;                       /* its data have been compared with their checksum */
};

/* STORE is borrowed; QUEUE_PATH is the socket of "queue". REPORTED: a report that
 * reporter_start() returned is durably queued (RESULT 0), or not (-errno). The report is freed
 * afterwards. */
struct reporter *reporter_new(struct os_loop *loop, struct queue_store *store,
			      const char *queue_path, const struct config *config,
			      void (*reported)(void *context, struct message *message,
					       enum report_kind kind, int result),
			      void *context);
void reporter_configure(struct reporter *reporter, const struct config *config);
void reporter_free(struct reporter *reporter);

/* Whether SUBJECT's end must be reported to anybody: otherwise there is nothing to start. A
 * report that is dropped because the sender is that of double bounces is logged. */
bool reporter_has_end(struct reporter *reporter, const struct report_subject *subject);
/* Begins a report on MESSAGE. 0, or -errno: it cannot be written. REPORTED is called later,
 * never before this returns. */
MUST_CHECK int reporter_start(struct reporter *reporter, struct message *message,
			      const struct report_subject *subject, enum report_kind kind,
			      struct report **report_out);
/* The caller no longer waits for the report; it may still be queued. */
void report_abandon(struct report *report);

#endif
