// SPDX-License-Identifier: ISC
/* What a transaction of an attempt says of its message. */
#include "deliver/remote/attempt/internal.h"
#include "deliver/remote/attempt/origin.h"
#include "mail/address.h"
#include "os/clock.h"

/* To LMTP servers mail is delivered, not sent on. */
static bool is_sent_on(const struct remote_attempt *attempt)
{
	return attempt->protocol != SMTP_CLIENT_LMTP;
}

/* If it has passed, and nobody has reported that, the next host gets the last moment for it. */
static int64_t deadline_left(const struct deliver_helper_job *job)
{
	const struct mail_deadline *deadline = &job->deadline;
	int64_t left = mail_deadline_left(deadline, job->id.born_us, os_clock_wall_us());
	bool is_untold = deadline->mode == MAIL_DEADLINE_NOTIFY && !deadline->is_told;

	return left <= 0 && is_untold ? 1 : left;
}

void remote_attempt_message(const struct remote_attempt *attempt, struct smtp_client_message *out)
{
	const struct deliver_helper_job *job = attempt->job;

	*out = (struct smtp_client_message){
		.sender = mail_sender_told(job->sender),
		.size = job->content.size + attempt->needs.breaks_size,
		.has_long_lines = attempt->needs.has_long_lines,
		.is_8bit = attempt->needs.is_8bit,
		.is_binary = job->binary,
		.is_utf8 = job->utf8,
		.needs_utf8 = attempt->needs_utf8,
		.requires_tls = job->requires_tls && is_sent_on(attempt),
		.priority = job->priority,
		.deadline = job->deadline,
		.deadline_left = deadline_left(job),
		.ret = job->ret,
		.envid = job->envid,
		.origin = job->tells_origin ? remote_origin_of(job) : NULL,
		.recipients = attempt->recipients.transaction,
		.recipient_count = attempt->recipients.count,
	};
}

struct remote_attempt *remote_attempt_new(struct remote_client *client,
					  enum smtp_client_protocol protocol,
					  struct deliver_helper_job *job)
{
	struct remote_attempt *attempt = arena_alloc(job->arena, sizeof *attempt);
	char *chunk = client->settings.chunk;

	attempt->client = client;
	attempt->protocol = protocol;
	attempt->job = job;
	attempt->configuration = client->configurations;
	attempt->decided_by = client->configurations;
	attempt->begin_us = os_clock_monotonic_us();
	attempt->needs = remote_content_look(&job->content, chunk);
	if (protocol != SMTP_CLIENT_SMTP || job->binary) /* no lines are broken */
		attempt->needs.breaks_size = 0;
	attempt->needs_utf8 = attempt->needs.is_8bit && job->utf8 && protocol == SMTP_CLIENT_SMTP &&
			      remote_content_has_8bit_header(&job->content, chunk);
	remote_recipients_init(&attempt->recipients, job);
	attempt->next = client->attempts;
	attempt->previous = &client->attempts;
	if (attempt->next != NULL)
		attempt->next->previous = &attempt->next;
	client->attempts = attempt;
	job->context = attempt;
	return attempt;
}
