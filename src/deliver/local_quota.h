// SPDX-License-Identifier: ISC
/*
 * deliver/local_quota.h - asks the directory for the quotas of the mailboxes of a job before it is
 * delivered.
 */
#ifndef DELIVER_LOCAL_QUOTA_H
#define DELIVER_LOCAL_QUOTA_H

#include "config/config.h"
#include "deliver/local_group.h"
#include "directory/lookup/lookup.h"

struct local_quotas;

/* READY is called for each entry that was passed to local_quotas_find(). */
struct local_quotas *local_quotas_new(void (*ready)(void *context, struct local_entry *entry),
				      void *context);
/* Finishes waiting jobs without reports. NULL is allowed. */
void local_quotas_free(struct local_quotas *quotas);
/* Finds the quotas of ENTRY's recipients, entry->quotas, by SERVICE's setting and by DIRECTORY's
 * answers; NULL: the setting alone. Then calls READY, perhaps at once. */
void local_quotas_find(struct local_quotas *quotas, struct directory *directory,
		       const struct config_service *service, struct local_entry *entry);
/* Finishes waiting jobs without reports. */
void local_quotas_give_up(struct local_quotas *quotas);

#endif
