// SPDX-License-Identifier: ISC
/*
 * tests/unit/smtp/smtp_client_misfits.h - calls of a driver that is late, between any two steps of
 * a dialogue: each call that belongs to another state of the client changes nothing that can be
 * seen.
 */
#ifndef SMTP_CLIENT_MISFITS_H
#define SMTP_CLIENT_MISFITS_H

#include "base/buffer.h"
#include "smtp/client/client.h"

struct smtp_client_misfits {
	const char *name; /* of the dialogue */
	struct smtp_client *client;
	const struct smtp_client_recipient *recipients;
	size_t recipient_count;
	const struct buffer *watched; /* what was told of the session */
};

void smtp_client_misfits_try(const struct smtp_client_misfits *misfits);

#endif
