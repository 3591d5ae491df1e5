// SPDX-License-Identifier: ISC
/* The servers of an attempt: one after the other is met, as its policy says, and why one was not is
 * kept. */
#include "base/timestamp.h"
#include "deliver/remote/attempt/internal.h"
#include "deliver/remote/route/peer.h"
#include <errno.h>
#include <string.h>

/* RFC 5321 section 4.5.3.2: the least that each of a server's first replies may take. All of them
 * together have it where another server may be asked. */
static const int64_t PATIENCE_US = 5 * MINUTE_US;

enum { PASSED_MAX = 64 };

void remote_attempt_keep_failure(struct remote_attempt *attempt, const struct mail_verdict *verdict)
{
	if (attempt->full == 0 && (attempt->failure.text[0] == '\0' || verdict->class == MAIL_WAIT))
		attempt->failure = *verdict;
}

/* A new search returns all servers again, including those already asked. */
static bool was_asked(const struct remote_attempt *attempt, const struct dns_server *server)
{
	for (size_t i = 0; i < attempt->asked_count; i++)
		if (os_socket_address_is_equal(&attempt->asked[i], &server->address))
			return true;
	return false;
}

void remote_attempt_tell(struct remote_attempt *attempt, const char *failure)
{
	if (attempt->finder->tell != NULL && !attempt->is_told &&
	    attempt->policy.level != CONFIG_TLS_NONE)
		attempt->finder->tell(attempt->finder_context, attempt->server, &attempt->policy,
				      attempt->session, failure);
	if (!attempt->is_told && failure == NULL && attempt->policy.level == CONFIG_TLS_MAY)
		remote_plain_learn(attempt->client->plain, attempt->server,
				   remote_session_tls(attempt->session) != NULL,
				   remote_session_is_tls_refused(attempt->session));
	attempt->is_told = true;
}

static const struct limit_class *class_of(const struct remote_attempt *attempt)
{
	return remote_places_class(attempt->client->settings.places, attempt->server);
}

/* Whether the current server's class of hosts has just been found full. */
static bool is_known_full(const struct remote_attempt *attempt)
{
	const struct limit_class *class = attempt->full != 0 ? class_of(attempt) : NULL;

	return class != NULL && class->key == attempt->full;
}

/* Other servers may be in another class. */
static void keep_full(struct remote_attempt *attempt)
{
	const struct limit_class *class = class_of(attempt);
	struct mail_verdict verdict;

	if (attempt->full != 0)
		return;
	attempt->full = class->key;
	limit_class_trigger(class, attempt->full_trigger);
	mail_verdict_set(&verdict, "4.4.5", "class %s of hosts has all its %u sessions",
			 class->mask, class->queue);
	attempt->failure = verdict;
}

/* 0 or -errno, as remote_session_new(); *SOURCE_OUT is from where; NULL: anywhere. */
static int connect_to_server(struct remote_attempt *attempt,
			     const struct config_source **source_out)
{
	struct remote_session_settings settings = attempt->client->settings;
	int result;

	settings.protocol = attempt->protocol;
	settings.has_turn = attempt->job->has_turn;
	settings.patience_us = remote_attempt_has_next(attempt) ? PATIENCE_US : 0;
	if (attempt->finder->source != NULL)
		settings.source = attempt->finder->source(attempt->finder_context, attempt->server,
							  &settings.sources);
	*source_out = settings.source;
	do
		result = remote_session_new(&settings, attempt->key, attempt->server,
					    &attempt->policy, &attempt->session);
	while (result == -EUSERS &&
	       remote_pool_make_room(attempt->client->pool, class_of(attempt)));
	return result;
}

bool remote_attempt_meet(struct remote_attempt *attempt)
{
	struct mail_verdict verdict;
	const struct config_source *source;
	struct shape_hold hold;
	int result;

	if (!remote_attempt_may_meet(attempt, &hold))
		return false;
	result = connect_to_server(attempt, &source);
	if (result == 0) {
		*remote_session_hold(attempt->session) = hold;
		attempt->is_told = false;
		return true;
	}
	shape_cancel(&hold);
	if (result == -EUSERS) {
		keep_full(attempt);
		return false;
	}
	if (source != NULL && result == -EADDRNOTAVAIL)
		remote_source_explain(source, attempt->server, &verdict);
	else
		remote_peer_unreachable(&verdict, attempt->server, strerror(-result));
	remote_attempt_keep_failure(attempt, &verdict);
	attempt->was_connected = attempt->was_connected || !remote_peer_is_absent(result) ||
				 result == -EADDRNOTAVAIL;
	return false;
}

/* Whether TLS is left out where it may be: by QMTP a server cannot offer it. */
static bool is_server_without_tls(const struct remote_attempt *attempt)
{
	return attempt->protocol == SMTP_CLIENT_QMTP ||
	       remote_plain_has(attempt->client->plain, &attempt->server->address,
				attempt->policy.login != NULL);
}

bool remote_attempt_obey_policy(struct remote_attempt *attempt)
{
	struct remote_policy *policy = &attempt->policy;

	attempt->decided_by = attempt->client->configurations;
	if (policy->refusal != NULL) {
		attempt->is_told = false;
		remote_attempt_tell(attempt, policy->refusal->text);
		remote_attempt_keep_failure(attempt, policy->refusal);
		attempt->was_connected = true; /* the server is not to blame */
		return false;
	}
	attempt->is_left_out = policy->level == CONFIG_TLS_MAY && is_server_without_tls(attempt);
	if (attempt->is_left_out)
		policy->level = CONFIG_TLS_NONE;
	return remote_attempt_meet(attempt);
}

/* Those that were passed over come after the others. */
static bool take_next_server(struct remote_attempt *attempt)
{
	if (attempt->server_count == 0 || !remote_attempt_has_next(attempt))
		return false;
	if (attempt->next_server == attempt->server_count) {
		attempt->next_server = 0;
		attempt->has_only_passed_by = true;
	}
	attempt->server = &attempt->servers[attempt->next_server++];
	return true;
}

static bool may_have_taken(const struct remote_attempt *attempt)
{
	return attempt->protocol == SMTP_CLIENT_SMTP &&
	       remote_doubt_count(attempt->client->doubt, attempt->job->id, attempt->server) >=
		       REMOTE_DOUBT_ATTEMPTS;
}

/* Whether the current server is not to be tried in this round. */
static bool is_passed_over(struct remote_attempt *attempt)
{
	size_t i = attempt->next_server - 1;

	if (attempt->has_only_passed_by)
		return i >= PASSED_MAX || (attempt->passed_over & UINT64_C(1) << i) == 0;
	if (attempt->server_count < 2 || i >= PASSED_MAX ||
	    !(may_have_taken(attempt) ||
	      remote_silent_has(attempt->client->silent, attempt->server)))
		return false;
	attempt->passed_over |= UINT64_C(1) << i;
	return true;
}

enum remote_attempt_next remote_attempt_meet_next(struct remote_attempt *attempt)
{
	const struct remote_finder *finder = attempt->finder;

	while (take_next_server(attempt)) {
		if (was_asked(attempt, attempt->server) || is_known_full(attempt) ||
		    is_passed_over(attempt))
			continue;
		attempt->policy = (struct remote_policy){.level = CONFIG_TLS_NONE};
		if (finder->protect != NULL && !finder->protect(attempt->finder_context, attempt,
								attempt->server, &attempt->policy))
			return REMOTE_ATTEMPT_WAITS;
		if (remote_attempt_obey_policy(attempt))
			return REMOTE_ATTEMPT_MET;
	}
	return REMOTE_ATTEMPT_NONE;
}
