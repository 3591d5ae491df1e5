// SPDX-License-Identifier: ISC
#include "stage/remote_attempt.h"
#include "base/panic.h"
#include "mail/address.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECIPIENTS_MAX = 100, /* of one transaction, RFC 5321 section 4.5.3.1.8 */
	SCAN_MAX = 16,        /* chunks; a longer message counts as 8-bit */
};

/* In the arena of its job. */
struct remote_attempt {
	struct remote_carrier *carrier;
	struct stage_helper_job *job;
	const char *key;
	const struct remote_finder *finder;
	void *finder_context;
	const struct dns_server *servers; /* candidates, the best first */
	size_t server_count;
	size_t next_server;
	const char *trigger;         /* when none of them answered */
	bool was_connected;          /* at least one of them answered */
	struct mail_verdict failure; /* of the candidates so far; no text: none */

	struct remote_session *session;
	struct smtp_client_recipient *recipients; /* as in the job */
	size_t first;                             /* of those that the transaction is for */
	size_t count;
	bool is_8bit;
	bool needs_utf8; /* its header does */
	bool is_last;    /* nothing follows the transaction under way */
	struct remote_attempt *next, **previous;
};

static void start_transaction(struct remote_attempt *attempt);

/* The end of the attempt: its memory goes with the job. */
static void finish(struct remote_attempt *attempt)
{
	struct stage_helper_job *job = attempt->job;

	attempt->finder->end(attempt->finder_context);
	remote_session_free(attempt->session);
	*attempt->previous = attempt->next;
	if (attempt->next != NULL)
		attempt->next->previous = attempt->previous;
	stage_helper_finish(job);
}

static void finish_with(struct remote_attempt *attempt, const struct mail_verdict *verdict,
			const char *trigger)
{
	stage_helper_report_rest(attempt->job, verdict, trigger);
	finish(attempt);
}

/* What one candidate said stays only as long as no other gives more hope. */
static void keep_failure(struct remote_attempt *attempt, const struct mail_verdict *verdict)
{
	if (attempt->failure.text[0] == '\0' || verdict->class == MAIL_WAIT)
		attempt->failure = *verdict;
}

static void report_failure(struct remote_attempt *attempt)
{
	finish_with(attempt, &attempt->failure, attempt->was_connected ? NULL : attempt->trigger);
}

/* A lack of descriptors or memory says nothing about the server; nor does the full
 * queue of a UNIX socket, but that the server is there. */
static bool is_no_absence(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM ||
	       error == -EAGAIN;
}

static void try_next_server(struct remote_attempt *attempt)
{
	while (attempt->next_server < attempt->server_count) {
		const struct dns_server *server = &attempt->servers[attempt->next_server++];
		struct mail_verdict verdict;
		int result = remote_session_new(&attempt->carrier->settings, attempt->key, server,
						&attempt->session);

		if (result == 0) {
			start_transaction(attempt);
			return;
		}
		remote_session_explain(&verdict, server, strerror(-result));
		keep_failure(attempt, &verdict);
		attempt->was_connected = attempt->was_connected || is_no_absence(result);
	}
	report_failure(attempt);
}

void remote_attempt_try(struct remote_attempt *attempt, const struct dns_server *servers,
			size_t count, const char *trigger)
{
	attempt->servers = servers;
	attempt->server_count = count;
	attempt->next_server = 0;
	attempt->trigger = trigger;
	try_next_server(attempt);
}

void remote_attempt_fail(struct remote_attempt *attempt, const struct mail_verdict *verdict)
{
	finish_with(attempt, verdict, NULL);
}

static void report_transaction(struct remote_attempt *attempt)
{
	for (size_t i = attempt->first; i < attempt->first + attempt->count; i++) {
		attempt->job->recipients[i].is_passed_on = attempt->recipients[i].is_passed_on;
		stage_helper_report(attempt->job, i, attempt->recipients[i].verdict, NULL);
	}
}

static void close_session(struct remote_attempt *attempt)
{
	remote_session_free(attempt->session);
	attempt->session = NULL;
}

static void go_on_with_rest(struct remote_attempt *attempt)
{
	struct remote_session *session = attempt->session;

	attempt->first += attempt->count;
	if (attempt->is_last) {
		finish(attempt);
	} else if (attempt->first == attempt->job->recipient_count) {
		attempt->session = NULL;
		remote_pool_put(attempt->carrier->pool, session);
		finish(attempt);
	} else if (remote_session_is_reusable(session)) {
		start_transaction(attempt);
	} else {
		close_session(attempt);
		attempt->finder->find(attempt->finder_context, attempt);
	}
}

static void pass_by(struct remote_attempt *attempt)
{
	attempt->was_connected = true;
	keep_failure(attempt, attempt->recipients[attempt->first].verdict);
	close_session(attempt);
	if (attempt->server_count > 0)
		try_next_server(attempt);
	else /* the connection was one that had waited: no server was looked for yet */
		attempt->finder->find(attempt->finder_context, attempt);
}

static void on_outcome(void *context, enum remote_outcome outcome)
{
	struct remote_attempt *attempt = context;

	switch (outcome) {
	case REMOTE_DECIDED:
		report_transaction(attempt);
		go_on_with_rest(attempt);
		break;
	case REMOTE_UNREACHABLE:
		keep_failure(attempt, remote_session_failure(attempt->session));
		close_session(attempt);
		try_next_server(attempt);
		break;
	case REMOTE_UNSERVED:
		pass_by(attempt);
		break;
	case REMOTE_STALE:
		close_session(attempt);
		attempt->finder->find(attempt->finder_context, attempt);
		break;
	}
}

/* The last thing that is done with the attempt. */
static void start_transaction(struct remote_attempt *attempt)
{
	struct stage_helper_job *job = attempt->job;
	struct remote_transaction transaction = {
		.content = job->content, .done = on_outcome, .context = attempt};
	size_t rest = job->recipient_count - attempt->first;

	attempt->count = rest < RECIPIENTS_MAX ? rest : RECIPIENTS_MAX;
	transaction.message = (struct smtp_client_message){
		.sender = mail_sender_is_null(job->sender) ? STR("") : job->sender,
		.size = job->content.size,
		.is_8bit = attempt->is_8bit,
		.is_utf8 = job->utf8,
		.needs_utf8 = attempt->needs_utf8,
		.ret = job->ret,
		.envid = job->envid,
		.recipients = attempt->recipients + attempt->first,
		.recipient_count = attempt->count,
	};
	remote_session_run(attempt->session, &transaction);
}

static bool has_high_bit(struct str data)
{
	uint64_t all = 0;
	size_t i = 0;

	for (uint64_t word; i + sizeof word <= data.length; i += sizeof word) {
		memcpy(&word, data.data + i, sizeof word);
		all |= word;
	}
	for (; i < data.length; i++)
		all |= (unsigned char)data.data[i];
	return (all & UINT64_C(0x8080808080808080)) != 0;
}

static bool is_8bit(struct remote_carrier *carrier, const struct stage_helper_job *job)
{
	char *chunk = carrier->settings.chunk;
	uint64_t position = 0;

	for (int i = 0; i < SCAN_MAX; i++) {
		struct str part;

		if (ipc_content_read(&job->content, position, chunk, REMOTE_CHUNK_SIZE, &part) <
			    0 ||
		    has_high_bit(part))
			return true;
		position += part.length;
		if (position >= job->content.size)
			return false;
	}
	return true;
}

/* The end of the header in DATA, which begins with a header's line; all of DATA when
 * the end is not in it. */
static struct str header_in(struct str data)
{
	const char *end = memmem(data.data, data.length, "\r\n\r\n", 4);

	return end != NULL ? str_slice(data.data, (size_t)(end - data.data)) : data;
}

/* Of a header that is longer than a chunk only the chunk is known; then it counts as
 * ASCII as far as its rest goes. A local LMTP server stores what there is, so that
 * this is no question there. */
static bool has_8bit_header(struct remote_carrier *carrier, const struct stage_helper_job *job)
{
	struct str part;

	return ipc_content_read(&job->content, 0, carrier->settings.chunk, REMOTE_CHUNK_SIZE,
				&part) == 0 &&
	       has_high_bit(header_in(part));
}

static struct remote_attempt *new_attempt(struct remote_carrier *carrier,
					  struct stage_helper_job *job)
{
	struct remote_attempt *attempt = arena_alloc(job->arena, sizeof *attempt);

	attempt->carrier = carrier;
	attempt->job = job;
	attempt->is_8bit = is_8bit(carrier, job);
	attempt->needs_utf8 = attempt->is_8bit && job->utf8 &&
			      carrier->settings.protocol == SMTP_CLIENT_SMTP &&
			      has_8bit_header(carrier, job);
	attempt->recipients =
		arena_alloc(job->arena, job->recipient_count * sizeof *attempt->recipients);
	for (size_t i = 0; i < job->recipient_count; i++) {
		attempt->recipients[i].address = job->recipients[i].address;
		attempt->recipients[i].original = job->recipients[i].original;
		attempt->recipients[i].notify = job->recipients[i].notify;
	}
	attempt->next = carrier->attempts;
	attempt->previous = &carrier->attempts;
	if (attempt->next != NULL)
		attempt->next->previous = &attempt->next;
	carrier->attempts = attempt;
	job->context = attempt;
	return attempt;
}

void remote_attempt_start(struct remote_carrier *carrier, struct stage_helper_job *job,
			  const char *key, const struct remote_finder *finder, void *context)
{
	struct remote_attempt *attempt = new_attempt(carrier, job);

	attempt->key = key;
	attempt->finder = finder;
	attempt->finder_context = context;
	attempt->session = remote_pool_take(carrier->pool, key);
	if (attempt->session != NULL)
		start_transaction(attempt);
	else
		finder->find(context, attempt);
}

void remote_carrier_init(struct remote_carrier *carrier, struct os_loop *loop,
			 enum smtp_client_protocol protocol)
{
	*carrier = (struct remote_carrier){.pool = remote_pool_new()};
	carrier->settings.loop = loop;
	carrier->settings.protocol = protocol;
	carrier->settings.chunk = memory_alloc(REMOTE_CHUNK_SIZE);
}

void remote_carrier_configure(struct remote_carrier *carrier, const char *hostname,
			      int64_t connect_timeout_us, int64_t reply_timeout_us)
{
	remote_pool_clear(carrier->pool);
	carrier->settings.hostname = hostname;
	carrier->settings.connect_timeout_us = connect_timeout_us;
	carrier->settings.reply_timeout_us = reply_timeout_us;
}

void remote_carrier_drain(struct remote_carrier *carrier)
{
	struct remote_attempt *next;

	for (struct remote_attempt *attempt = carrier->attempts; attempt != NULL; attempt = next) {
		next = attempt->next;
		if (attempt->session != NULL && remote_session_is_deciding(attempt->session))
			attempt->is_last = true;
		else
			finish(attempt);
	}
	remote_pool_clear(carrier->pool);
}

void remote_carrier_give_up(struct remote_carrier *carrier)
{
	while (carrier->attempts != NULL)
		finish(carrier->attempts);
}

void remote_carrier_clear(struct remote_carrier *carrier)
{
	remote_carrier_give_up(carrier);
	remote_pool_free(carrier->pool);
	free(carrier->settings.chunk);
}
