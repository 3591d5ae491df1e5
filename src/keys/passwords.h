// SPDX-License-Identifier: ISC
/*
 * keys/passwords.h - the passwords of logins to relays: in the configuration, or in the file of
 * relay_passwords, which is read at each question and not kept.
 */
#ifndef KEYS_PASSWORDS_H
#define KEYS_PASSWORDS_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "config/config.h"

/* Appends to PASSWORD that of USER at RELAY, as routes have it, and PORT: 0; or -errno with the
 * REASON, which has nothing of the file: -EPERM: others may read or change it, -ENOENT: it has no
 * such line. The owner erases PASSWORD. Only what a route of CONFIG says is found. */
MUST_CHECK int keys_password_find(const struct config *config, struct str relay, uint16_t port,
				  struct str user, struct buffer *password, struct buffer *reason);

#endif
