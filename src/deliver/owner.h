// SPDX-License-Identifier: ISC
/*
 * deliver/owner.h - as whom a local service delivers.
 */
#ifndef DELIVER_OWNER_H
#define DELIVER_OWNER_H

#include "config/config.h"
#include "mail/verdict.h"
#include "os/process.h"

/* Who delivers mail for ADDRESS by SERVICE. Its user.change is false when that is
 * the user whom the process acts as already; its name is "" when nobody was named.
 * False: *WHY_OUT says why nobody can: the service's user does not exist or is
 * root or, where a program is to be run, as whom one of our processes runs; the recipient is no
 * user; this process may not change its user. */
MUST_CHECK bool owner_find(const struct config *config, const struct config_service *service,
			   struct str address, struct os_process_account *owner_out,
			   struct mail_verdict *why_out);

#endif
