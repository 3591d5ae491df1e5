// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/bind.h - whether a password is that of a user, by binding as him.
 *
 * His entry is the only one below the base whose attribute of user.key (setting map) is his name.
 * All calls block; several threads may call at once, each with a connection of its own.
 */
#ifndef DIRECTORY_STORE_LDAP_BIND_H
#define DIRECTORY_STORE_LDAP_BIND_H

#include "directory/store/ldap/ldap.h"

struct store_ldap_binder;

enum store_ldap_bound {
	STORE_LDAP_RIGHT,
	STORE_LDAP_WRONG,     /* or there is no such user, or not only one */
	STORE_LDAP_NO_ANSWER, /* of any server */
};

/* Reads the files that SETTINGS name: 0; or -errno, and a sentence in WHY. Copies SETTINGS. From
 * now on libldap erases what it frees: to call before anything else of libldap. */
MUST_CHECK int store_ldap_binder_new(const struct store_ldap_settings *settings,
				     struct store_ldap_binder **binder_out, struct buffer *why);
/* NULL is allowed. */
void store_ldap_binder_free(struct store_ldap_binder *binder);
/* WHY: of NO_ANSWER, for the log. */
enum store_ldap_bound store_ldap_bind(const struct store_ldap_binder *binder, struct str user,
				      struct str password, struct buffer *why);

#endif
