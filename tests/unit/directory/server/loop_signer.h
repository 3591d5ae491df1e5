// SPDX-License-Identifier: ISC
/* tests/unit/directory/server/loop_signer.h - a signer that answers at the end of a loop's turn, by
 * the private keys of files; and contexts of peers that know each other, which sign by it. */
#ifndef TESTS_UNIT_LOOP_SIGNER_H
#define TESTS_UNIT_LOOP_SIGNER_H

#include "os/loop.h"
#include "tls/mutual.h"

struct loop_signer;

struct loop_signer *loop_signer_new(struct os_loop *loop);
/* After the contexts. NULL is allowed. */
void loop_signer_free(struct loop_signer *signer);

/* Of the certificate NAME and "authority" in DIRECTORY (certificates.h). */
struct tls_context *loop_signer_context(struct loop_signer *signer, enum tls_side side,
					const char *directory, const char *name,
					const char *protocol);

#endif
