// SPDX-License-Identifier: ISC
/* supervisor/machine_check/internal.h - shared by the files of machine_check.h. */
#ifndef SUPERVISOR_MACHINE_CHECK_INTERNAL_H
#define SUPERVISOR_MACHINE_CHECK_INTERNAL_H

#include "base/attributes.h"
#include "supervisor/machine_check/machine_check.h"

enum { MACHINE_SETTING_SIZE = 96 }; /* of the name of a setting, as in problems */

struct machine_check {
	const struct config *config;
	struct str text;
	machine_found *found;
	void *context;
	int worst;
};

/* Reports a problem of SETTING. */
PRINTF_LIKE(4, 5)
void machine_check_report(struct machine_check *check, enum machine_severity severity,
			  const char *setting, const char *format, ...);
/* The setting of config_authority_at(config, INDEX). */
/* The setting that names a file of CERTIFICATE; MEMBER is "chain", "key" or "names". */
void machine_check_name_setting(const struct config_certificate *certificate, const char *member,
				char setting[MACHINE_SETTING_SIZE]);
void machine_check_authority_setting(const struct config *config, size_t index,
				     char setting[MACHINE_SETTING_SIZE]);
/* Reports it if there is no file PATH; NULL and "": none is wanted. */
void machine_check_file(struct machine_check *check, const char *setting, const char *path);
/* The files of certificates, private keys and authorities. */
void machine_check_tls(struct machine_check *check);
/* The passwords of logins to relays. */
void machine_check_logins(struct machine_check *check);
/* The files by which servers are verified, and those of logins to IMAP servers and databases. */
void machine_check_peers(struct machine_check *check);
/* The programs of backends. */
void machine_check_programs(struct machine_check *check);
/* The addresses of sections source. */
void machine_check_sources(struct machine_check *check);
/* Who may send mail to whom, and what leads mail back. */
void machine_check_openness(struct machine_check *check);

#endif
