// SPDX-License-Identifier: ISC
#include "deliver/local_quota.h"
#include "base/panic.h"
#include "mail/quota.h"
#include <stdlib.h>
#include <utlist.h>

struct asking;

/* A question about one recipient. */
struct question {
	struct asking *asking;
	size_t index;
	struct directory_quota_request request;
};

/* An entry that waits for answers; in its job's arena. */
struct asking {
	struct local_quotas *quotas;
	struct local_entry *entry;
	struct local_quota by_setting; /* copied: a reload may free the service meanwhile */
	struct question *questions;
	size_t left; /* without an answer */
	struct asking *next, *prev;
};

struct local_quotas {
	void (*ready)(void *context, struct local_entry *entry);
	void *context;
	struct asking *waiting;
};

struct local_quotas *local_quotas_new(void (*ready)(void *context, struct local_entry *entry),
				      void *context)
{
	struct local_quotas *quotas = memory_alloc_zero(1, sizeof *quotas);

	quotas->ready = ready;
	quotas->context = context;
	return quotas;
}

static void end(struct asking *asking)
{
	struct local_quotas *quotas = asking->quotas;

	DL_DELETE(quotas->waiting, asking);
	quotas->ready(quotas->context, asking->entry);
}

static struct local_quota by_setting(const struct config_service *service)
{
	struct local_quota quota = {.is_counted = true};

	if (mail_quota_parse(str_from(service->quota), &quota.quota) < 0)
		panic("the quota of a service was not checked");
	return quota;
}

static void found(void *context, enum directory_quota_answer answer, const struct mail_quota *quota)
{
	struct question *question = context;
	struct asking *asking = question->asking;
	struct local_quota *out = &asking->entry->quotas[question->index];

	if (answer == DIRECTORY_QUOTA_FOUND)
		*out = (struct local_quota){.quota = *quota, .is_counted = true};
	else if (answer == DIRECTORY_QUOTA_NONE)
		*out = asking->by_setting;
	else /* the directory's quota may be larger than the setting, and no mail should wait for
	      * that */
		*out = (struct local_quota){0};
	if (--asking->left == 0)
		end(asking);
}

static void ask(struct local_quotas *quotas, struct directory *directory,
		const struct config_service *service, struct local_entry *entry)
{
	struct deliver_helper_job *job = entry->job;
	size_t count = job->recipient_count;
	struct asking *asking = arena_alloc(job->arena, sizeof *asking);

	*asking = (struct asking){
		.quotas = quotas, .entry = entry, .by_setting = by_setting(service)};
	asking->questions = arena_alloc(job->arena, count * sizeof *asking->questions);
	asking->left = count + 1; /* answers may come before all are asked */
	DL_APPEND(quotas->waiting, asking);
	for (size_t i = 0; i < count; i++) {
		struct question *question = &asking->questions[i];

		*question = (struct question){.asking = asking, .index = i};
		directory_find_quota(directory, job->recipients[i].address, found, question,
				     &question->request);
	}
	if (--asking->left == 0)
		end(asking);
}

void local_quotas_find(struct local_quotas *quotas, struct directory *directory,
		       const struct config_service *service, struct local_entry *entry)
{
	struct deliver_helper_job *job = entry->job;

	if (*service->quota == '\0') {
		quotas->ready(quotas->context, entry);
		return;
	}
	entry->quotas = arena_alloc(job->arena, job->recipient_count * sizeof *entry->quotas);
	if (directory != NULL && directory_is_served(directory)) {
		ask(quotas, directory, service, entry);
		return;
	}
	for (size_t i = 0; i < job->recipient_count; i++)
		entry->quotas[i] = by_setting(service);
	quotas->ready(quotas->context, entry);
}

void local_quotas_give_up(struct local_quotas *quotas)
{
	while (quotas->waiting != NULL) {
		struct asking *asking = quotas->waiting;
		struct deliver_helper_job *job = asking->entry->job;

		DL_DELETE(quotas->waiting, asking);
		for (size_t i = 0; i < job->recipient_count; i++)
			directory_quota_cancel(&asking->questions[i].request);
		deliver_helper_finish(job);
	}
}

void local_quotas_free(struct local_quotas *quotas)
{
	if (quotas == NULL)
		return;
	local_quotas_give_up(quotas);
	free(quotas);
}
