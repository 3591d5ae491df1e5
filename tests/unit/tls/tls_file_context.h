// SPDX-License-Identifier: ISC
/* tests/unit/tls/tls_file_context.h - contexts with a certificate and its private key in files, as
 * no process has them: those ask "keys". */
#ifndef TESTS_UNIT_TLS_FILE_CONTEXT_H
#define TESTS_UNIT_TLS_FILE_CONTEXT_H

#include "tls/context.h"

struct tls_file_context { /* paths of PEM files; NULL: none */
	const char *certificate;
	const char *key;       /* NULL: in the certificate's file */
	const char *authority; /* one of these must have signed the peer's certificate */
	const char *protocol;  /* as of struct tls_mutual_settings */
};

/* A file that cannot be used ends the program. Freed by tls_context_free(). */
struct tls_context *tls_file_context_open(enum tls_side side,
					  const struct tls_file_context *settings);

#endif
