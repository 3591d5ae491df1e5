// SPDX-License-Identifier: ISC
/*
 * deliver/owner.h - the user to deliver as.
 */
#ifndef DELIVER_OWNER_H
#define DELIVER_OWNER_H

#include "config/config.h"
#include "mail/verdict.h"
#include "os/process/process.h"

/* The user who delivers mail for ADDRESS by SERVICE. Its user.change is false if that is the
 * user whom the process runs as already. Others have no groups but their own; the user of "local",
 * who delivers for services without user, has those of the process as he would if no service
 * delivered as somebody else. Its name is "" if no user is configured. False:
 * *WHY_OUT says why there is none: the service's user does not exist or is root or, for a
 * program, is the user of one of our processes; the recipient is not a user; this process may
 * not change its user. */
MUST_CHECK bool owner_find(const struct config *config, const struct config_service *service,
			   struct str address, struct os_process_account *owner_out,
			   struct mail_verdict *why_out);

/* The account of the user whose mailbox ADDRESS is, for services with user = "%u": whether or not
 * this process may become that user. False: *WHY_OUT says why there is none, with a status of class
 * 5 if there is certainly none, or CONFIG gives that user no mail. */
MUST_CHECK bool owner_find_recipient(const struct config *config, struct str address,
				     struct os_process_account *owner_out,
				     struct mail_verdict *why_out);

#endif
