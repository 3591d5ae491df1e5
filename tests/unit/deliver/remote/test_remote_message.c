// SPDX-License-Identifier: ISC
/* What an attempt says of its message, for each kind of message and server, and that it is one of
 * the client's attempts from then on. */
#include "base/panic.h"
#include "deliver/remote/attempt/internal.h"
#include "deliver/remote/attempt/origin.h"
#include "os/clock.h"
#include "test.h"
#include <stdlib.h>

enum { BREAKS = 6, SIZE = 1000, NOW = 50 };

static struct remote_content_needs needs;
static bool has_8bit_header;
static unsigned headers_looked_at;
static char chunk[REMOTE_CHUNK_SIZE];
static int some_origin;

int64_t os_clock_wall_us(void)
{
	return NOW * SECOND_US;
}

int64_t os_clock_monotonic_us(void)
{
	return 7;
}

struct remote_content_needs remote_content_look(const struct ipc_content *content, char *memory)
{
	assert_int_equal(content->size, SIZE);
	assert_ptr_equal(memory, chunk);
	return needs;
}

bool remote_content_has_8bit_header(const struct ipc_content *content, char *memory)
{
	assert_int_equal(content->size, SIZE);
	assert_ptr_equal(memory, chunk);
	headers_looked_at++;
	return has_8bit_header;
}

const struct smtp_client_origin *remote_origin_of(const struct deliver_helper_job *job)
{
	assert_true(job->tells_origin);
	return (const struct smtp_client_origin *)(const void *)&some_origin;
}

void remote_recipients_init(struct remote_recipients *recipients, struct deliver_helper_job *job)
{
	*recipients = (struct remote_recipients){.count = job->recipient_count};
}

static struct deliver_helper_job *new_job(unsigned flags)
{
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);

	job->arena = arena_new();
	job->sender = (flags & 1) != 0 ? STR("s@a.test") : STR("#@[]");
	job->content.size = SIZE;
	job->binary = (flags & 2) != 0;
	job->utf8 = (flags & 4) != 0;
	job->requires_tls = (flags & 8) != 0;
	job->tells_origin = (flags & 16) != 0;
	job->priority = (flags & 2) != 0 ? 3 : -3;
	job->ret = (flags & 4) != 0 ? MAIL_RET_HEADERS : MAIL_RET_FULL;
	job->envid = STR("id");
	job->recipient_count = 5;
	job->id.born_us = 10 * SECOND_US;
	needs = (struct remote_content_needs){.is_8bit = (flags & 32) != 0,
					      .breaks_size = BREAKS,
					      .has_long_lines = (flags & 64) != 0};
	has_8bit_header = (flags & 128) != 0;
	return job;
}

static void check_message(enum smtp_client_protocol protocol, unsigned flags)
{
	struct remote_client client = {.configurations = 9, .settings = {.chunk = chunk}};
	struct remote_attempt *others[2] = {NULL, NULL};
	struct deliver_helper_job *job = new_job(flags);
	struct remote_attempt *attempt;
	struct smtp_client_message message;
	bool is_broken = protocol == SMTP_CLIENT_SMTP && !job->binary;
	bool may_need_utf8 = protocol == SMTP_CLIENT_SMTP && needs.is_8bit && job->utf8;

	headers_looked_at = 0;
	others[0] = remote_attempt_new(&client, protocol, job);
	attempt = remote_attempt_new(&client, protocol, job);
	assert_int_equal(headers_looked_at, may_need_utf8 ? 2 : 0);
	assert_ptr_equal(client.attempts, attempt);
	assert_ptr_equal(attempt->next, others[0]);
	assert_ptr_equal(attempt->previous, &client.attempts);
	assert_ptr_equal(others[0]->previous, &attempt->next);
	assert_null(others[0]->next);
	assert_ptr_equal(job->context, attempt);
	assert_ptr_equal(attempt->job, job);
	assert_ptr_equal(attempt->client, &client);
	assert_int_equal(attempt->configuration, 9);
	assert_int_equal(attempt->decided_by, 9);
	assert_int_equal(attempt->begin_us, 7);
	attempt->recipients.count = 4;
	remote_attempt_message(attempt, &message);
	assert_true(str_equal(message.sender, (flags & 1) != 0 ? STR("s@a.test") : STR("")));
	assert_int_equal(message.size, SIZE + (is_broken ? BREAKS : 0));
	assert_int_equal(message.has_long_lines, needs.has_long_lines);
	assert_int_equal(message.is_8bit, needs.is_8bit);
	assert_int_equal(message.is_binary, job->binary);
	assert_int_equal(message.is_utf8, job->utf8);
	assert_int_equal(message.needs_utf8, may_need_utf8 && has_8bit_header);
	assert_int_equal(message.requires_tls, job->requires_tls && protocol != SMTP_CLIENT_LMTP);
	assert_int_equal(message.priority, job->priority);
	assert_int_equal(message.ret, job->ret);
	assert_true(str_equal(message.envid, STR("id")));
	assert_ptr_equal(message.origin, job->tells_origin ? &some_origin : NULL);
	assert_ptr_equal(message.recipients, attempt->recipients.transaction);
	assert_int_equal(message.recipient_count, 4);
	arena_free(job->arena);
	free(job);
}

static void a_message_is_described_as_it_is(void **state)
{
	static const enum smtp_client_protocol protocols[] = {SMTP_CLIENT_SMTP, SMTP_CLIENT_LMTP,
							      SMTP_CLIENT_QMTP};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(protocols); i++)
		for (unsigned flags = 0; flags < 256; flags++)
			check_message(protocols[i], flags);
}

/* Born 40 s ago: what is left of the time it may take. Only who must be told, and has not been,
 * gets the last moment after it. */
static void a_deadline_that_has_passed_is_told_once(void **state)
{
	static const enum mail_deadline_mode modes[] = {MAIL_DEADLINE_NONE, MAIL_DEADLINE_NOTIFY,
							MAIL_DEADLINE_RETURN};
	static const int64_t seconds[] = {1, 38, 39, 40, 41, 42, 1000};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(modes); i++)
		for (size_t k = 0; k < COUNT_OF(seconds); k++)
			for (unsigned told = 0; told < 2; told++) {
				struct deliver_helper_job *job = new_job(0);
				struct remote_attempt attempt = {.job = job};
				struct smtp_client_message message;
				int64_t left = seconds[k] - 40;

				job->deadline = (struct mail_deadline){.mode = modes[i],
								       .at_us = (10 + seconds[k]) *
										SECOND_US,
								       .is_told = told};
				remote_attempt_message(&attempt, &message);
				if (modes[i] == MAIL_DEADLINE_NOTIFY && told == 0 && left <= 0)
					left = 1;
				if (modes[i] != MAIL_DEADLINE_NONE)
					assert_int_equal(message.deadline_left, left);
				assert_int_equal(message.deadline.mode, modes[i]);
				arena_free(job->arena);
				free(job);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_described_as_it_is),
		cmocka_unit_test(a_deadline_that_has_passed_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
