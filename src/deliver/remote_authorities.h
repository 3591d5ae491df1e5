// SPDX-License-Identifier: ISC
/*
 * deliver/remote_authorities.h - the files of authorities by which policies verify servers, read
 * once, before the sandbox is entered. When one is replaced, a new process has to read it.
 */
#ifndef DELIVER_REMOTE_AUTHORITIES_H
#define DELIVER_REMOTE_AUTHORITIES_H

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

/* Reads those that CONFIG needs for mail to other hosts, or for LMTP services. */
struct remote_authorities *remote_authorities_new(const struct config *config, bool is_lmtp);
/* To be called before the sandbox is entered: calls CHANGED once, when one of these files is
 * another, which is logged. A file in a directory that cannot be watched is not noticed. */
void remote_authorities_watch(struct remote_authorities *authorities, struct os_loop *loop,
			      void (*changed)(void *context), void *context);
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
