// SPDX-License-Identifier: ISC
/*
 * filing/mailstore/imap.h - copies on an IMAP server (RFC 3501, 4315, 9051; by libcurl).
 * Connections are kept and used again.
 */
#ifndef FILING_MAILSTORE_IMAP_H
#define FILING_MAILSTORE_IMAP_H

#include "filing/mailstore/mailstore.h"
#include <stdint.h>

enum mailstore_imap_tls {
	MAILSTORE_IMAP_PLAIN,
	MAILSTORE_IMAP_STARTTLS, /* demanded, and the certificate is verified */
	MAILSTORE_IMAP_IMPLICIT,
};

struct mailstore_imap_settings {
	const char *host;    /* a name or address */
	const char *address; /* where HOST is, if it was looked up already; "": HOST is looked up by
			      * the system */
	uint16_t port;
	enum mailstore_imap_tls tls;
	const char *authorities; /* PEM file */
	/* For SASL PLAIN. %a: the user's address, %u: its local part, %d: its domain. With a
	 * master's login the server is told whom it is for (Dovecot: "%a*master"). */
	const char *login;
	const char *password; /* of that login; copied, and erased at the end */
	/* Before the names of folders other than INBOX; "": as the server's NAMESPACE says. */
	const char *prefix;
	unsigned timeout_s; /* for each command */
};

/* Copies SETTINGS. */
struct mailstore *mailstore_imap_new(const struct mailstore_imap_settings *settings);

#endif
