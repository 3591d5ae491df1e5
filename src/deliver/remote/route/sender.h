// SPDX-License-Identifier: ISC
/*
 * deliver/remote/route/sender.h - a sender as settings name it: "ann@mail.example.org", then its
 * domain "mail.example.org", then the suffixes ".example.org" and ".org", all in canonical form.
 * The null sender is none of these.
 */
#ifndef DELIVER_REMOTE_ROUTE_SENDER_H
#define DELIVER_REMOTE_ROUTE_SENDER_H

#include "mail/address.h"

struct remote_sender {
	char text[2 * (MAIL_DOMAIN_MAX + 1)];
	struct str first;  /* the address */
	struct str domain; /* its domain */
};

/* False: it is the null sender, or an address that no setting can name. */
MUST_CHECK bool remote_sender_of(struct str address, struct remote_sender *out);
/* What is looked up after KEY was not found; empty: nothing. */
struct str remote_sender_next(const struct remote_sender *sender, struct str key);

#endif
