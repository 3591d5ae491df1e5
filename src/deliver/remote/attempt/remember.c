// SPDX-License-Identifier: ISC
/* What an attempt leaves for those after it: which servers are silent, where TLS breaks, who may
 * have the message. */
#include "deliver/remote/attempt/internal.h"

bool remote_attempt_has_next(const struct remote_attempt *attempt)
{
	return attempt->server_count == 0 || attempt->next_server < attempt->server_count ||
	       (attempt->passed_over != 0 && !attempt->has_only_passed_by);
}

/* Where it may be left out, and no password goes by the connection. */
static void remember_breaks(const struct remote_attempt *attempt, enum remote_outcome outcome)
{
	const struct remote_session *session = attempt->session;
	struct remote_plain *plain = attempt->client->plain;
	bool is_broken = remote_session_is_broken(session);
	bool may_be_plain = attempt->policy.level == CONFIG_TLS_MAY &&
			    attempt->policy.login == NULL && remote_session_tls(session) != NULL;

	if (is_broken && (may_be_plain || attempt->is_left_out))
		remote_plain_broke(plain, attempt->server, may_be_plain,
				   remote_session_failure(session)->text);
	else if (may_be_plain && outcome == REMOTE_DECIDED)
		remote_plain_held(plain, attempt->server);
}

void remote_attempt_remember(const struct remote_attempt *attempt, enum remote_outcome outcome)
{
	const struct remote_session *session = attempt->session;
	const struct dns_server server = {.address = *remote_session_address(session)};

	if (remote_session_is_unanswered(session) && attempt->protocol == SMTP_CLIENT_SMTP)
		remote_doubt_add(attempt->client->doubt, attempt->job->id, &server);
	if (attempt->server == NULL) /* the connection was an idle one */
		return;
	if (remote_session_is_silent(session))
		remote_silent_add(attempt->client->silent, attempt->server,
				  remote_session_failure(session)->text);
	else if (outcome != REMOTE_UNREACHABLE)
		remote_silent_forget(attempt->client->silent, attempt->server);
	remember_breaks(attempt, outcome);
}

bool remote_attempt_shuns_idle(const struct remote_attempt *attempt)
{
	return attempt->protocol == SMTP_CLIENT_SMTP &&
	       remote_doubt_count(attempt->client->doubt, attempt->job->id, NULL) >=
		       REMOTE_DOUBT_ATTEMPTS;
}

void remote_attempt_note_copies(const struct remote_attempt *attempt)
{
	const struct remote_recipients *recipients = &attempt->recipients;
	const struct dns_server server = {.address = *remote_session_address(attempt->session)};
	struct remote_doubt *doubt = attempt->client->doubt;
	struct mail_id id = attempt->job->id;

	if (attempt->protocol != SMTP_CLIENT_SMTP || remote_doubt_count(doubt, id, NULL) == 0 ||
	    remote_doubt_count(doubt, id, &server) > 0)
		return;
	for (size_t i = 0; i < recipients->count; i++) {
		const struct mail_verdict *verdict = recipients->transaction[i].verdict;
		struct mail_verdict *noted;

		if (verdict == NULL || verdict->class != MAIL_OK)
			continue;
		noted = arena_alloc(attempt->job->arena, sizeof *noted);
		mail_verdict_set(
			noted, verdict->status,
			"%.360s; another server had the message before and did not answer: "
			"there may be a second copy",
			verdict->text);
		recipients->transaction[i].verdict = noted;
	}
}
