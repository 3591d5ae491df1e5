// SPDX-License-Identifier: ISC
/*
 * manager/notice.h - who is notified of what: RFC 3461. A failure, unless that was declined; a
 * success, if it was requested and the next host does not report it; a delay, once for each
 * message, and again when the time passes that the sender has set (RFC 2852). Pure: uses only a
 * message's control file.
 */
#ifndef MANAGER_NOTICE_H
#define MANAGER_NOTICE_H

#include "bounce/report.h"
#include "config/config.h"
#include "queue/control/control.h"

/* Whether the delivery's recipient has requested a report of success. */
bool notice_is_success_wanted(const struct queue_control *control,
			      const struct queue_delivery *delivery);
/* Whether the delivery is in the report at the end: it has failed, or it was successful and no
 * other host reports that. */
bool notice_is_at_end(const struct queue_control *control, const struct queue_delivery *delivery);
bool notice_has_any_at_end(const struct queue_control *control);
/* Whether it is reported of the delivery, which is done, that it was sent on: to a host that was
 * told of its deadline (IS_TIMED) if each host is to report that, to another unless the deadline
 * has been reported as passed (RFC 2852). */
bool notice_is_relay_wanted(const struct queue_control *control,
			    const struct queue_delivery *delivery, bool is_timed);
/* When the delay of the message must be reported to its sender; INT64_MAX: never, or already
 * done. */
int64_t notice_delay_due_us(const struct queue_control *control, const struct config *config);
/* The contents of the report at the end, or of a delay report; in the envelope's arena. Which
 * address each names is as CONFIG's report_addresses says: if that is the written one, what has
 * become of the deliveries that it leads to is one outcome for each action. */
struct bounce_outcome *notice_collect_end(const struct queue_control *control,
					  const struct config *config, size_t *count_out);
/* Only the successes of the report at the end. */
struct bounce_outcome *notice_collect_success(const struct queue_control *control,
					      const struct config *config, size_t *count_out);
struct bounce_outcome *notice_collect_delay(const struct queue_control *control,
					    const struct config *config, int64_t now_us,
					    size_t *count_out);
/* Whether the delivery belongs in a delay report of that time. */
bool notice_is_delay_wanted(const struct queue_control *control,
			    const struct queue_delivery *delivery, const struct config *config,
			    int64_t now_us);

/* The input of a report besides the message's control file. */
struct notice {
	struct str sender; /* of the report, and its recipient: bounce_route() */
	struct str recipient;
	const struct bounce_outcome *outcomes; /* collected above */
	size_t count;
	struct str original; /* of the message: notice_original_max() bytes or all */
	int64_t now_us;
};

/* The number of bytes, from the start of the message, that a report may return. */
uint64_t notice_original_max(const struct queue_control *control, const struct config *config);
/* Appends the report to OUT; returns whether it must be sent with SMTPUTF8. */
bool notice_write(const struct notice *notice, const struct queue_control *control,
		  const struct config *config, struct buffer *out);
/* Its envelope, without id and size. Freed by the caller. */
struct mail_envelope *notice_envelope(const struct notice *notice, bool is_utf8);

#endif
