// SPDX-License-Identifier: ISC
/*
 * deliver/quotas.h - asks the directory for the quotas of mailboxes before a message is delivered
 * there.
 */
#ifndef DELIVER_QUOTAS_H
#define DELIVER_QUOTAS_H

#include "base/arena.h"
#include "config/config.h"
#include "directory/lookup/lookup.h"
#include "mail/mailbox/quota.h"

struct deliver_quota {
	struct mail_quota quota;
	bool is_counted; /* otherwise no quota is counted */
};

/* Whose quotas are wanted. */
struct deliver_quotas_wanted {
	void *owner;
	struct arena *arena; /* of what is needed meanwhile, and of QUOTAS */
	const struct str *addresses;
	size_t count;
	struct deliver_quota *quotas; /* out, of each; NULL: none are counted */
};

struct deliver_quotas;

/* READY is called with the owner of what was passed to deliver_quotas_find(), or GIVEN_UP. */
struct deliver_quotas *deliver_quotas_new(void (*ready)(void *context, void *owner),
					  void (*given_up)(void *context, void *owner),
					  void *context);
/* Gives up what waits. NULL is allowed. */
void deliver_quotas_free(struct deliver_quotas *quotas);
/* Finds the quotas by SERVICE's setting and by DIRECTORY's answers; NULL: the setting alone. Then
 * calls READY, perhaps at once. */
void deliver_quotas_find(struct deliver_quotas *quotas, struct directory *directory,
			 const struct config_service *service,
			 struct deliver_quotas_wanted *wanted);
void deliver_quotas_give_up(struct deliver_quotas *quotas);
/* The quota by the setting of SERVICE. */
struct deliver_quota deliver_quota_by_setting(const struct config_service *service);

#endif
