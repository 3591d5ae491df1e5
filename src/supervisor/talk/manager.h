// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/manager.h - sends orders to the running manager (manager/order.h).
 *
 * Only a few are pending at a time: as many as the kernel can queue answers for.
 */
#ifndef SUPERVISOR_TALK_MANAGER_H
#define SUPERVISOR_TALK_MANAGER_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/envelope.h"
#include "manager/order.h"

enum { MANAGER_TALK_SECONDS = 10, MANAGER_TALK_COMMAND_MAX = 1000 };

struct manager_talk;

/* Called for each order, in order of sending. ID was given with it. */
typedef void manager_talk_answered(void *context, struct mail_id id,
				   const struct order_answer *answer);

/* -ESRCH: no manager runs with the directory RUN; -EACCES. */
MUST_CHECK int manager_talk_open(const char *run, manager_talk_answered *answered, void *context,
				 struct manager_talk **talk_out);
void manager_talk_close(struct manager_talk *talk);

/* Sends COMMAND; waits for earlier answers if too many are missing. -ETIMEDOUT:
 * none came for MANAGER_TALK_SECONDS; then nothing more may be sent. */
MUST_CHECK int manager_talk_send(struct manager_talk *talk, struct mail_id id, struct str command);
/* Asks QUESTION, with no answer missing, and waits: 0 and the answer (appended to TOLD), 1
 * if it was refused; errors as above. */
MUST_CHECK int manager_talk_question(struct manager_talk *talk, struct str question,
				     struct buffer *told);
/* Waits for all answers. */
MUST_CHECK int manager_talk_finish(struct manager_talk *talk);

/* Sends one order and waits: 0; 1 and *REASON (appended) if it was refused. */
MUST_CHECK int manager_talk_ask(const char *run, struct str command, struct buffer *reason);
/* Explains an error of these functions. */
const char *manager_talk_explain(int error);

#endif
