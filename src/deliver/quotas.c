// SPDX-License-Identifier: ISC
#include "deliver/quotas.h"
#include "base/panic.h"
#include "mail/mailbox/quota.h"
#include <stdlib.h>
#include <utlist.h>

struct asking;

/* A question about one recipient. */
struct question {
	struct asking *asking;
	size_t index;
	struct directory_quota_request request;
};

/* What waits for answers; in its arena. */
struct asking {
	struct deliver_quotas *quotas;
	struct deliver_quotas_wanted *wanted;
	struct deliver_quota by_setting; /* copied: a reload may free the service meanwhile */
	struct question *questions;
	size_t left; /* without an answer */
	struct asking *next, *prev;
};

struct deliver_quotas {
	void (*ready)(void *context, void *owner);
	void (*given_up)(void *context, void *owner);
	void *context;
	struct asking *waiting;
};

struct deliver_quotas *deliver_quotas_new(void (*ready)(void *context, void *owner),
					  void (*given_up)(void *context, void *owner),
					  void *context)
{
	struct deliver_quotas *quotas = memory_alloc_zero(1, sizeof *quotas);

	*quotas = (struct deliver_quotas){.ready = ready, .given_up = given_up, .context = context};
	return quotas;
}

static void end_quota_questions(struct asking *asking)
{
	struct deliver_quotas *quotas = asking->quotas;

	DL_DELETE(quotas->waiting, asking);
	quotas->ready(quotas->context, asking->wanted->owner);
}

struct deliver_quota deliver_quota_by_setting(const struct config_service *service)
{
	struct deliver_quota quota = {.is_counted = true};

	if (mail_quota_parse(str_from(service->quota), &quota.quota) < 0)
		panic("the quota of a service was not checked");
	return quota;
}

static void on_quota_found(void *context, enum directory_quota_answer answer,
			   const struct mail_quota *quota)
{
	struct question *question = context;
	struct asking *asking = question->asking;
	struct deliver_quota *out = &asking->wanted->quotas[question->index];

	if (answer == DIRECTORY_QUOTA_FOUND)
		*out = (struct deliver_quota){.quota = *quota, .is_counted = true};
	else if (answer == DIRECTORY_QUOTA_NONE)
		*out = asking->by_setting;
	else /* the directory's quota may be larger than the setting, and no mail should wait for
	      * that */
		*out = (struct deliver_quota){0};
	if (--asking->left == 0)
		end_quota_questions(asking);
}

static void ask_for_quotas(struct deliver_quotas *quotas, struct directory *directory,
			   const struct config_service *service,
			   struct deliver_quotas_wanted *wanted)
{
	struct asking *asking = arena_alloc(wanted->arena, sizeof *asking);

	*asking = (struct asking){.quotas = quotas,
				  .wanted = wanted,
				  .by_setting = deliver_quota_by_setting(service)};
	asking->questions = arena_alloc(wanted->arena, wanted->count * sizeof *asking->questions);
	asking->left = wanted->count + 1; /* answers may come before all are asked */
	DL_APPEND(quotas->waiting, asking);
	for (size_t i = 0; i < wanted->count; i++) {
		struct question *question = &asking->questions[i];

		*question = (struct question){.asking = asking, .index = i};
		directory_find_quota(directory, wanted->addresses[i], on_quota_found, question,
				     &question->request);
	}
	if (--asking->left == 0)
		end_quota_questions(asking);
}

void deliver_quotas_find(struct deliver_quotas *quotas, struct directory *directory,
			 const struct config_service *service, struct deliver_quotas_wanted *wanted)
{
	if (*service->quota == '\0') {
		quotas->ready(quotas->context, wanted->owner);
		return;
	}
	wanted->quotas = arena_alloc(wanted->arena, wanted->count * sizeof *wanted->quotas);
	if (directory != NULL && directory_is_served(directory)) {
		ask_for_quotas(quotas, directory, service, wanted);
		return;
	}
	for (size_t i = 0; i < wanted->count; i++)
		wanted->quotas[i] = deliver_quota_by_setting(service);
	quotas->ready(quotas->context, wanted->owner);
}

void deliver_quotas_give_up(struct deliver_quotas *quotas)
{
	while (quotas->waiting != NULL) {
		struct asking *asking = quotas->waiting;

		DL_DELETE(quotas->waiting, asking);
		for (size_t i = 0; i < asking->wanted->count; i++)
			directory_quota_cancel(&asking->questions[i].request);
		quotas->given_up(quotas->context, asking->wanted->owner);
	}
}

void deliver_quotas_free(struct deliver_quotas *quotas)
{
	if (quotas == NULL)
		return;
	deliver_quotas_give_up(quotas);
	free(quotas);
}
