// SPDX-License-Identifier: ISC
/* directory/store/ldap/link/access.h - the servers, and how to log in there, from the settings. */
#ifndef DIRECTORY_STORE_LDAP_LINK_ACCESS_H
#define DIRECTORY_STORE_LDAP_LINK_ACCESS_H

#include "directory/store/ldap/ldap.h"
#include "directory/store/ldap/link/link.h"

/* 0; or -EINVAL, and a sentence in WHY; to be cleared in either case. Also prepares TLS. */
MUST_CHECK int access_take_servers(const struct store_ldap_settings *given,
				   struct link_server **servers_out, size_t *count_out,
				   struct buffer *why);
void access_clear_servers(struct link_server *servers, size_t count);
/* Likewise; reads the file of the password. */
MUST_CHECK int access_take_login(const struct store_ldap_settings *given, struct link_login *login,
				 struct buffer *why);
void access_clear_login(struct link_login *login);

#endif
