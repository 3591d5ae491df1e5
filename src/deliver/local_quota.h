// SPDX-License-Identifier: ISC
/*
 * deliver/local_quota.h - which quotas the mailboxes of a job have, asked of the directory before
 * it is delivered.
 */
#ifndef DELIVER_LOCAL_QUOTA_H
#define DELIVER_LOCAL_QUOTA_H

#include "config/config.h"
#include "deliver/local_group.h"
#include "directory/lookup/lookup.h"

struct local_quotas;

/* READY is called with each entry that was given to local_quotas_find(). */
struct local_quotas *local_quotas_new(void (*ready)(void *context, struct local_entry *entry),
				      void *context);
/* What waits is finished without reports. NULL is allowed. */
void local_quotas_free(struct local_quotas *quotas);
/* Finds the quotas of ENTRY's recipients, entry->quotas, by SERVICE's setting and by what DIRECTORY
 * says; NULL: there is none, and the setting alone counts. READY, perhaps at once. */
void local_quotas_find(struct local_quotas *quotas, struct directory *directory,
		       const struct config_service *service, struct local_entry *entry);
/* Finishes what waits without reports. */
void local_quotas_give_up(struct local_quotas *quotas);

#endif
