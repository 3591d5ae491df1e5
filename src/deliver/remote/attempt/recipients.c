// SPDX-License-Identifier: ISC
#include "deliver/remote/attempt/recipients.h"
#include "mail/text/xtext.h"

void remote_recipients_init(struct remote_recipients *recipients, struct deliver_helper_job *job)
{
	size_t count = job->recipient_count;
	size_t most = count < REMOTE_RECIPIENTS_MAX ? count : REMOTE_RECIPIENTS_MAX;

	*recipients = (struct remote_recipients){.job = job};
	recipients->order = arena_alloc(job->arena, count * sizeof *recipients->order);
	for (size_t i = 0; i < count; i++)
		if (!job->recipients[i].is_reported)
			recipients->order[recipients->end++] = i;
	recipients->transaction = arena_alloc(job->arena, most * sizeof *recipients->transaction);
}

size_t remote_recipients_next(const struct remote_recipients *recipients, uint32_t most)
{
	size_t rest = recipients->end - recipients->first;

	if (most == 0 || most > REMOTE_RECIPIENTS_MAX)
		most = REMOTE_RECIPIENTS_MAX;
	return rest < most ? rest : most;
}

/* ORCPT where none was given and the address was mapped: the one that was (RFC 3461 section 5.2.1),
 * so that reports of later hosts name what its sender knows. */
static struct str original_to_tell(struct arena *arena,
				   const struct deliver_helper_recipient *recipient)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (recipient->original.length > 0 || recipient->via.length == 0)
		return recipient->original;
	mail_orcpt_append(&text, recipient->via);
	return arena_copy_str(arena, buffer_view(&text));
}

void remote_recipients_begin(struct remote_recipients *recipients, uint32_t most)
{
	recipients->count = remote_recipients_next(recipients, most);
	recipients->is_anew = false;
	for (size_t i = 0; i < recipients->count; i++) {
		size_t number = recipients->order[recipients->first + i];
		const struct deliver_helper_recipient *from = &recipients->job->recipients[number];

		recipients->transaction[i] = (struct smtp_client_recipient){
			.address = from->address,
			.original = original_to_tell(recipients->job->arena, from),
			.notify = from->notify,
		};
	}
}

static void make_room_aside(struct remote_recipients *recipients)
{
	struct arena *arena = recipients->job->arena;
	size_t count = recipients->job->recipient_count;

	recipients->aside = arena_alloc(arena, count * sizeof *recipients->aside);
	recipients->deferrals = arena_alloc(arena, count * sizeof(const struct mail_verdict *));
}

/* One copy serves for all recipients that one reply decided. */
static void set_recipient_aside(struct remote_recipients *recipients, size_t number,
				const struct mail_verdict *verdict)
{
	const struct mail_verdict *copy;

	if (recipients->aside == NULL)
		make_room_aside(recipients);
	if (verdict == recipients->last_deferral) {
		copy = recipients->deferrals[recipients->aside[recipients->aside_count - 1]];
	} else {
		struct mail_verdict *own = arena_alloc(recipients->job->arena, sizeof *own);

		*own = *verdict;
		copy = own;
	}
	recipients->last_deferral = verdict;
	recipients->deferrals[number] = copy;
	recipients->aside[recipients->aside_count++] = number;
}

static bool is_for_next(const struct smtp_client_recipient *to)
{
	return to->again == SMTP_CLIENT_HERE || to->again == SMTP_CLIENT_ANEW;
}

/* The recipients for which the server, or the session, had no room come first in the next
 * transaction. */
static void keep_for_next(struct remote_recipients *recipients)
{
	size_t place = recipients->first + recipients->count;

	for (size_t i = recipients->count; i > 0; i--)
		if (is_for_next(&recipients->transaction[i - 1]))
			recipients->order[--place] = recipients->order[recipients->first + i - 1];
	recipients->first = place;
}

void remote_recipients_settle(struct remote_recipients *recipients, bool may_ask_elsewhere,
			      bool keeps_slower)
{
	struct deliver_helper_job *job = recipients->job;

	recipients->last_deferral = NULL; /* the engine reuses its memory */
	for (size_t i = 0; i < recipients->count; i++) {
		const struct smtp_client_recipient *to = &recipients->transaction[i];
		size_t number = recipients->order[recipients->first + i];

		job->recipients[number].is_passed_on = to->is_passed_on;
		job->recipients[number].is_timed = to->is_timed;
		recipients->is_anew |= to->again == SMTP_CLIENT_ANEW;
		if (to->is_slower && keeps_slower)
			continue;
		if (to->again == SMTP_CLIENT_ELSEWHERE && may_ask_elsewhere)
			set_recipient_aside(recipients, number, to->verdict);
		else if (!is_for_next(to))
			deliver_helper_report(job, number, to->verdict, NULL);
	}
	keep_for_next(recipients);
}

bool remote_recipients_has_more(const struct remote_recipients *recipients)
{
	return recipients->first < recipients->end;
}

bool remote_recipients_turn(struct remote_recipients *recipients)
{
	size_t *order = recipients->aside;

	if (recipients->aside_count == 0)
		return false;
	recipients->aside = recipients->order;
	recipients->order = order;
	recipients->first = 0;
	recipients->end = recipients->aside_count;
	recipients->aside_count = 0;
	return true;
}

void remote_recipients_report_deferred(struct remote_recipients *recipients)
{
	struct deliver_helper_job *job = recipients->job;

	for (size_t i = 0; recipients->deferrals != NULL && i < job->recipient_count; i++)
		if (recipients->deferrals[i] != NULL && !job->recipients[i].is_reported)
			deliver_helper_report(job, i, recipients->deferrals[i], NULL);
}
