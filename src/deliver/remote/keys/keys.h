// SPDX-License-Identifier: ISC
/*
 * deliver/remote/keys/keys.h - our certificates and passwords for servers, from the process "keys",
 * which signs with their private keys.
 */
#ifndef DELIVER_REMOTE_KEYS_KEYS_H
#define DELIVER_REMOTE_KEYS_KEYS_H

#include "deliver/remote/keys/certificates.h"
#include "deliver/remote/keys/login.h"
#include "os/loop.h"

/* PATH: the socket of "keys". They live as long as the process. */
struct remote_certificates *remote_keys_new(struct os_loop *loop, const char *path);
/* Likewise, passwords. */
struct remote_logins *remote_keys_logins(struct os_loop *loop, const char *path);

#endif
