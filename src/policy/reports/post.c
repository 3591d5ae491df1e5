// SPDX-License-Identifier: ISC
#include "policy/reports/post.h"
#include "base/panic.h"
#include "dns/text.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/random.h"
#include "policy/reports/mail.h"
#include "policy/sts/protocol.h"
#include "policy/tlsrpt/record.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_PREFIX "_smtp._tls."
#define MEDIA_TYPE    "application/tlsrpt+gzip"

enum {
	POST_SECONDS = 60,
	POST_ANSWER_MAX = 64 * 1024, /* bytes that are read of an answer, and ignored */
	ID_SIZE = 64,
	POST_NAME_SIZE = 256,
	RECORDS_MAX = 100,
};

struct reports_post {
	struct reports_ways ways; /* its texts are ours: a reload comes while a place is slow */
	char *hostname;
	char *from;
	char domain[STS_DOMAIN_MAX + 1];
	int64_t begin_us;
	char id[ID_SIZE];
	struct buffer content; /* compressed */
	struct dns_query *query;
	struct tlsrpt_record record;
	unsigned next; /* target */
	bool has_failed;
	bool was_sent;
	struct https_request *request;
	struct queue_client_message message;
	struct mail_envelope *envelope;
	struct buffer data;
	void (*done)(void *context, enum reports_end end);
	void *context;
};

static void finish_report_post(struct reports_post *post, enum reports_end end)
{
	void (*done)(void *context, enum reports_end end) = post->done;
	void *context = post->context;

	reports_post_free(post);
	done(context, end);
}

static void post_to_next_target(struct reports_post *post);

/* REASON: NULL: the target has the report. */
static void settle_report_target(struct reports_post *post, const char *reason)
{
	const struct tlsrpt_target *target = &post->record.targets[post->next++];
	const char *to = target->scheme == TLSRPT_HTTPS ? target->host : target->text;

	post->was_sent |= reason == NULL;
	if (reason == NULL)
		log_event(EVENT_TLS_REPORT_SENT, log_string(domain, post->domain),
			  log_string(to, to), log_string(report, post->id));
	else
		log_event(EVENT_TLS_REPORT_FAILED, log_string(domain, post->domain),
			  log_string(to, to), log_string(reason, reason));
	post_to_next_target(post);
}

/* --- by HTTPS --- */

/* A request that is wrong stays so; one that came too slowly or too often does not (RFC 9110
 * section 15.5.9, RFC 6585 section 4). */
static bool may_try_again(unsigned code)
{
	return code / 100 != 4 || code == 408 || code == 429;
}

static void on_posted(void *context, const struct https_answer *answer)
{
	struct reports_post *post = context;
	char reason[64];

	post->request = NULL;
	if (answer->status != HTTPS_OK) {
		post->has_failed = true;
		settle_report_target(post, answer->reason);
	} else if (answer->code / 100 != 2) {
		snprintf(reason, sizeof reason, "HTTP status %u", answer->code);
		post->has_failed |= may_try_again(answer->code);
		settle_report_target(post, reason);
	} else {
		settle_report_target(post, NULL);
	}
}

static void post_by_https(struct reports_post *post, const struct tlsrpt_target *target)
{
	struct https_ask ask = {
		.host = target->host,
		.port = target->port,
		.path = target->text,
		.size_max = POST_ANSWER_MAX,
		.seconds = POST_SECONDS,
		.content_type = MEDIA_TYPE,
		.content = buffer_view(&post->content),
	};

	post->request = https_ask(post->ways.https, &ask, on_posted, post);
}

/* --- by mail --- */

static void on_report_queued(void *context, int result)
{
	struct reports_post *post = context;
	bool is_open = result == 0 && post->message.state == QUEUE_CLIENT_OPEN;

	if (is_open) {
		post->envelope->id = (struct mail_id){post->message.number, os_clock_wall_us()};
		queue_client_commit(&post->message, post->envelope, buffer_view(&post->data));
		return;
	}
	mail_envelope_free(post->envelope);
	post->envelope = NULL;
	post->has_failed |= result < 0;
	settle_report_target(post, result < 0 ? strerror(-result) : NULL);
}

static void post_by_mail(struct reports_post *post, const struct tlsrpt_target *target)
{
	const struct reports_mail mail = {
		.from = post->ways.from,
		.to = target->text,
		.domain = post->domain,
		.submitter = post->ways.hostname,
		.id = post->id,
		.begin_us = post->begin_us,
		.now_us = os_clock_wall_us(),
		.content = buffer_view(&post->content),
	};
	struct mail_envelope *envelope = mail_envelope_new();

	buffer_reset(&post->data);
	reports_mail_format(&mail, &post->data);
	envelope->stage = MAIL_STAGE_SUBMIT;
	envelope->sender = arena_copy_str(envelope->arena, str_from(post->ways.from));
	envelope->received = STR("policy");
	envelope->size = post->data.length;
	mail_envelope_add(envelope, str_from(target->text));
	post->envelope = envelope;
	post->message.done = on_report_queued;
	post->message.context = post;
	queue_client_open(post->ways.queue, &post->message);
}

/* The post may be gone when this returns. */
static void post_to_next_target(struct reports_post *post)
{
	const struct tlsrpt_target *target = &post->record.targets[post->next];

	if (post->next == post->record.target_count)
		finish_report_post(post, post->has_failed && !post->was_sent ? REPORTS_LATER
									     : REPORTS_SENT);
	else if (target->scheme == TLSRPT_HTTPS)
		post_by_https(post, target);
	else
		post_by_mail(post, target);
}

static void on_tlsrpt_records(void *context, const struct dns_answer *answer)
{
	struct reports_post *post = context;
	struct buffer text CLEANUP(buffer_clear) = {0};

	post->query = NULL;
	for (size_t i = 0; i < answer->count && i < RECORDS_MAX; i++) {
		buffer_reset(&text);
		if (dns_text_append(&text, str_slice(answer->data[i], (size_t)answer->lengths[i])))
			tlsrpt_record_add(&post->record, buffer_view(&text));
	}
	if (answer->status == DNS_FAILED)
		finish_report_post(post, REPORTS_LATER);
	else if (!tlsrpt_record_is_valid(&post->record))
		finish_report_post(post, REPORTS_UNWANTED);
	else
		post_to_next_target(post);
}

static void make_content(struct reports_post *post, const struct tlsrpt_day *day)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	const struct tlsrpt_head head = {
		.organization = post->ways.hostname,
		.contact = post->ways.from,
		.id = post->id,
		.domain = post->domain,
		.begin_us = post->begin_us,
	};

	tlsrpt_day_report(day, &head, &text);
	reports_compress(buffer_view(&text), &post->content);
}

struct reports_post *reports_post_new(const struct reports_ways *ways, const char *domain,
				      int64_t begin_us, const struct tlsrpt_day *day,
				      void (*done)(void *context, enum reports_end end),
				      void *context)
{
	struct reports_post *post = memory_alloc_zero(1, sizeof *post);
	char name[POST_NAME_SIZE];

	post->ways = *ways;
	post->ways.hostname = post->hostname = memory_copy_string(ways->hostname);
	post->ways.from = post->from = memory_copy_string(ways->from);
	post->begin_us = begin_us;
	post->done = done;
	post->context = context;
	snprintf(post->domain, sizeof post->domain, "%s", domain);
	snprintf(post->id, sizeof post->id, "%lld.%016llx", (long long)(begin_us / SECOND_US),
		 (unsigned long long)os_random_u64());
	make_content(post, day);
	snprintf(name, sizeof name, RECORD_PREFIX "%s", post->domain);
	post->query = dns_query_new(ways->resolver, name, DNS_TYPE_TXT, on_tlsrpt_records, post);
	return post;
}

void reports_post_free(struct reports_post *post)
{
	if (post == NULL)
		return;
	dns_query_cancel(post->query);
	https_cancel(post->request);
	if (post->envelope != NULL)
		queue_client_abandon(&post->message);
	mail_envelope_free(post->envelope);
	buffer_clear(&post->content);
	buffer_clear(&post->data);
	free(post->hostname);
	free(post->from);
	free(post);
}
