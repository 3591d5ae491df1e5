// SPDX-License-Identifier: ISC
/*
 * policy/tlsrpt/record.h - the TXT record by which a domain asks for reports, RFC 8460 section 3.
 */
#ifndef POLICY_TLSRPT_RECORD_H
#define POLICY_TLSRPT_RECORD_H

#include "base/str.h"
#include <stdint.h>

enum {
	TLSRPT_TARGETS_MAX = 5, /* further ones are ignored */
	TLSRPT_TARGET_SIZE = 512,
};

enum tlsrpt_scheme { TLSRPT_MAILTO, TLSRPT_HTTPS };

struct tlsrpt_target {
	enum tlsrpt_scheme scheme;
	/* MAILTO: an address. HTTPS: a path that begins with '/', with its query. */
	char text[TLSRPT_TARGET_SIZE];
	char host[256]; /* HTTPS */
	uint16_t port;  /* HTTPS */
};

/* What the TXT records of _smtp._tls.DOMAIN say. Zeroed at first. */
struct tlsrpt_record {
	unsigned count; /* records of this version */
	struct tlsrpt_target targets[TLSRPT_TARGETS_MAX];
	unsigned target_count;
};

/* Takes TEXT, one of the TXT records, into account. */
void tlsrpt_record_add(struct tlsrpt_record *record, struct str text);
/* After all of them: whether the domain wants reports, by exactly one record that names where to
 * send them. Targets of other schemes, or that are malformed, are left out. */
bool tlsrpt_record_is_valid(const struct tlsrpt_record *record);

#endif
