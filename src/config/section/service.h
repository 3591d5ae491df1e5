// SPDX-License-Identifier: ISC
/*
 * config/section/service.h - sections service and domain: who has mailboxes here, and what delivers
 * to them.
 */
#ifndef CONFIG_SECTION_SERVICE_H
#define CONFIG_SECTION_SERVICE_H

#include "config/section/address.h"
#include "config/section/tls.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_service_kind { /* 0: unknown */
			   CONFIG_SERVICE_MAILDIR = 1,
			   CONFIG_SERVICE_MBOX,
			   CONFIG_SERVICE_LMTP,
			   CONFIG_SERVICE_PIPE,
			   CONFIG_SERVICE_MAILBOX,
			   CONFIG_SERVICE_IMAP,
			   CONFIG_SERVICE_KINDS,
};

/* The service that always exists: it sends mail on to the members of lists. */
#define CONFIG_LIST_SERVICE "list"

enum config_over_quota { CONFIG_OVER_QUOTA_DEFER, CONFIG_OVER_QUOTA_REFUSE };

enum config_sent { CONFIG_SENT_NONE, CONFIG_SENT_LOCAL, CONFIG_SENT_ALL };

enum config_imap_security {
	CONFIG_IMAP_PLAIN,
	CONFIG_IMAP_STARTTLS,
	CONFIG_IMAP_IMPLICIT,
};

struct config_service {
	const char *name; /* [a-z0-9_-]{1,32}, not "remote", "list", "resolve", "handover" or a stage; also a
			   * directory in the queue */
	enum config_service_kind kind;
	const char *nodes; /* the group of nodes that have its mailboxes; "": this one has */
	const char *path;  /* maildir, mbox, mailbox: with %d (domain), %u (local part), %% */
	const char *quota; /* maildir: as in mail/mailbox/quota.h; "": no quotas */
	enum config_over_quota over_quota;
	struct config_endpoint address; /* lmtp */
	bool xforward;                  /* lmtp */
	struct config_reach *servers;   /* lmtp: servers that the directory may name */
	size_t server_count;
	const char **command; /* pipe: the program's path, and arguments with
			       * %a %d %s %u %x %% */
	size_t command_count;
	const char *user; /* maildir, mbox, pipe: user to deliver as; "%u": the mailbox's; "": not
			   * set */
	uint32_t lock_timeout;     /* seconds; mbox: how long a locked mailbox is waited for */
	uint32_t timeout;          /* seconds; lmtp: for a reply; pipe: for a run */
	uint64_t output_max;       /* pipe: bytes */
	enum config_tls_level tls; /* lmtp */
	const char *authority;     /* lmtp: PEM file; "": setting tls_authorities */
	const char *certificate;   /* lmtp: section to present; "": none */
	/* mailbox, imap: */
	enum config_sent sent; /* whose sent mail is kept */
	const char *sent_folder;
	const char *folder;  /* of recipients: "INBOX" */
	bool detail_folders; /* "user+folder" goes to that folder */
	const char **flags;  /* of recipients' copies */
	size_t flag_count;
	enum config_imap_security security; /* imap, as the rest: */
	const char *login;                  /* with %a, %u, %d, %% */
	const char *password_file;
	const char *server_name; /* in its certificate; "": its address */
	const char *prefix;      /* of folders other than INBOX; "": none */
};

struct config_domain {
	const char *name; /* lower case */
	const struct config_service *service;
	const char **addresses; /* local parts, lower case, in order */
	size_t address_count;   /* 0: every local part exists */
};

#endif
