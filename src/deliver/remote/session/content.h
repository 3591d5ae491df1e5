// SPDX-License-Identifier: ISC
/*
 * deliver/remote/session/content.h - which features a message needs from the server that takes it.
 */
#ifndef DELIVER_REMOTE_SESSION_CONTENT_H
#define DELIVER_REMOTE_SESSION_CONTENT_H

#include "deliver/remote/session/session.h"

/* How often long lines will be broken (smtp/client/stuffing.h). All zeroes at first. */
struct remote_breaks {
	uint64_t length; /* of the current line so far */
	bool ends_with_cr;
	uint64_t count; /* in earlier lines */
};

/* Counts in the next bytes of the message. */
void remote_breaks_count(struct remote_breaks *breaks, struct str data);
/* About what the breaks add to the message, in bytes (smtp_stuffing_breaks()). */
uint64_t remote_breaks_size(const struct remote_breaks *breaks);

struct remote_content_needs {
	bool is_8bit;         /* may hold bytes over 127 */
	uint64_t breaks_size; /* what breaks add to its first MiB */
	bool has_long_lines;  /* it may have some: more may be so after that */
};

/* Looks at the first MiB; a longer message counts as 8-bit. CHUNK: REMOTE_CHUNK_SIZE bytes of
 * working memory. */
struct remote_content_needs remote_content_look(const struct ipc_content *content, char *chunk);
/* Whether its header may hold bytes over 127, as far as that is in the first chunk. */
bool remote_content_has_8bit_header(const struct ipc_content *content, char *chunk);
/* Whether its header has "TLS-Required: No" (RFC 8689 section 3), as far as that is in the first
 * chunk. */
bool remote_content_waives_tls(const struct ipc_content *content, char *chunk);

#endif
