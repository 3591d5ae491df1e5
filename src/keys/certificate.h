// SPDX-License-Identifier: ISC
/*
 * keys/certificate.h - a section "certificate" with its files: the chain, and the private key.
 */
#ifndef KEYS_CERTIFICATE_H
#define KEYS_CERTIFICATE_H

#include "config/config.h"
#include "keys/read.h"
#include "keys/retired.h"
#include "tls/private_key.h"

/* All zero but the name at first. */
struct keys_certificate {
	char *name;
	struct buffer chain;         /* PEM: the certificates only */
	struct tls_private_key *key; /* NULL: there was nothing that can be used so far */
	int64_t ends_us;             /* of validity */
	struct keys_stamp chain_stamp;
	struct keys_stamp key_stamp;
	bool is_known;         /* files were looked at */
	int error;             /* of the last reading, or 0 */
	struct buffer problem; /* then: which file, and why */
	unsigned days_warned;  /* of the last warning that it ends; 0: none */
	bool is_ended;         /* likewise, that it has ended */
};

/* Reads the files if they have changed, or could not be read for a reason that passes: true if
 * there is another certificate or key than before; the former key is RETIRED. What cannot be used
 * is logged. */
bool keys_certificate_refresh(struct keys_certificate *certificate,
			      const struct config_certificate *wanted,
			      struct keys_retired *retired);
/* Logs 30, 7 and 1 days before its end, and then, that it ends. */
void keys_certificate_warn(struct keys_certificate *certificate);
void keys_certificate_clear(struct keys_certificate *certificate);

/* Reads both files of WANTED and judges whether they can be used: 0; or -errno with the FILE that
 * is wrong and the REASON. Owned by the caller, also after an error. For "stagepost check", too. */
MUST_CHECK int keys_certificate_read(const struct config_certificate *wanted,
				     struct keys_certificate *out, const char **file_out,
				     struct buffer *reason);

#endif
