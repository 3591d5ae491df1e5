// SPDX-License-Identifier: ISC
/*
 * deliver/remote/policy/authorities.h - the files of authorities by which policies verify servers,
 * read once, before the sandbox is entered. When one is replaced, a new process has to read it.
 */
#ifndef DELIVER_REMOTE_POLICY_AUTHORITIES_H
#define DELIVER_REMOTE_POLICY_AUTHORITIES_H

#include "config/config.h"
#include "os/loop.h"
#include "tls/client.h"

struct remote_authorities;

struct remote_authorities_file {
	char *path;
	struct tls_authorities *authorities; /* NULL: it cannot be used */
	char *problem;
	struct os_file_watch *watch; /* NULL: not watched */
	struct remote_authorities_file *next;
};

/* CHANGED is called once, when one of the files that were read is another, which is logged; or ten
 * seconds after one could not be read for a reason that may pass. */
struct remote_authorities_watcher {
	struct os_loop *loop;
	void (*changed)(void *context);
	void *context;
};

/* Reads those that CONFIG needs for mail to other hosts, or for LMTP services. WATCHER is copied;
 * NULL: changes do not matter. To be called before the sandbox is entered. A change in a directory
 * that cannot be watched is not noticed. */
struct remote_authorities *remote_authorities_new(const struct config *config, bool is_lmtp,
						  const struct remote_authorities_watcher *watcher);
void remote_authorities_free(struct remote_authorities *authorities);
/* Logs which could not be read. */
void remote_authorities_log(const struct remote_authorities *authorities);
/* Whether all have been read that CONFIG needs. */
bool remote_authorities_has_all(struct remote_authorities *authorities,
				const struct config *config);
/* NULL: PATH was not read. */
const struct remote_authorities_file *
remote_authorities_find(const struct remote_authorities *authorities, const char *path);

/* The file for a section or service that names OWN; "": the setting's. */
const char *remote_authorities_of(const struct config *config, const char *own);
/* Whether policies of this LEVEL verify by authorities. */
bool remote_authorities_decide(enum config_tls_level level);

#endif
