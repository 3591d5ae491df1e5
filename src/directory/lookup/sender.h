// SPDX-License-Identifier: ISC
/*
 * directory/lookup/sender.h - as which addresses a user may send.
 *
 * Those are, with any extension, unless the address with it has a record of its own:
 *   his name, if it is an address; without section directory also NAME@default_domain
 *   what his record grants: each send_as, an address, or @DOMAIN for all of a domain
 *   the addresses of his mailboxes: records of kind mailbox with his name in the field user, or as
 *   their key
 *   those that lead to such a mailbox, among others perhaps: aliases, forwards, alias domains, but
 *   not lists
 */
#ifndef DIRECTORY_LOOKUP_SENDER_H
#define DIRECTORY_LOOKUP_SENDER_H

#include "directory/lookup/lookup.h"

enum { DIRECTORY_SENDER_TARGETS_MAX = 100 }; /* of an address; further ones are not looked at */

/* VERDICT: class OK: he may send as all of them; FAIL 5.7.1; WAIT: no answer now. The request may
 * be reused. */
typedef void directory_sender_judged(void *context, const struct mail_verdict *verdict);

struct directory_sending; /* a check under way */

/* Storage of the caller, zeroed at first, until it is judged or cancelled. */
struct directory_sender_request {
	struct directory_sending *sending; /* NULL: not pending */
};

/* Judges whether USER may send as each of COUNT SENDERS, any texts; may call JUDGED before it
 * returns. Copies all. USER: in any form, as proxies pass on names that were typed; one that is not
 * valid may send as nobody. */
void directory_sender_ask(struct directory *directory, struct str user, const struct str *senders,
			  size_t count, directory_sender_judged *judged, void *context,
			  struct directory_sender_request *request);
/* Calls nothing. Does nothing if the request is not pending. */
void directory_sender_cancel(struct directory_sender_request *request);

#endif
