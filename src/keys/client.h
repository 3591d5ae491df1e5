// SPDX-License-Identifier: ISC
/*
 * keys/client.h - certificates from the process "keys", and signatures by its private keys.
 *
 * After a lost connection the last set stays in force, and signatures fail until there is a new
 * one.
 */
#ifndef KEYS_CLIENT_H
#define KEYS_CLIENT_H

#include "base/timestamp.h"
#include "keys/set.h"
#include "os/loop.h"
#include "tls/signer.h"

struct keys;

/* A reload reaches "keys" and its clients one after the other: so long the last set is enough, if
 * it does not have all that a new configuration wants. */
#define KEYS_PATIENCE_US (3 * SECOND_US)

/* PATH: the socket of "keys". CHANGED is called whenever there is a new set. */
struct keys *keys_new(struct os_loop *loop, const char *path, void (*changed)(void *context),
		      void *context);
/* Only after the connections that use its signer. NULL is allowed. */
void keys_free(struct keys *keys);

/* The set in force; NULL: none has come yet. Valid until CHANGED is called. */
const struct keys_set *keys_set(const struct keys *keys);
const struct tls_signer *keys_signer(const struct keys *keys);

#endif
