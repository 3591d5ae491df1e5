// SPDX-License-Identifier: ISC
/*
 * command/queue/adopt_report.h - reports to senders, by "queue adopt", the successes that
 * the dead node could not report.
 */
#ifndef COMMAND_QUEUE_ADOPT_REPORT_H
#define COMMAND_QUEUE_ADOPT_REPORT_H

#include "config/config.h"
#include "queue/control/control.h"

/* The report of struct queue_adopt (queue/adopt.h), from the node of CONFIG. */
MUST_CHECK int queue_adopt_report(const struct config *config, const struct queue_control *control,
				  int data, struct mail_envelope **envelope_out,
				  struct buffer *content);

#endif
