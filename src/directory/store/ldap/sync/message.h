// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/sync/message.h - libldap's messages as plain values.
 */
#ifndef DIRECTORY_STORE_LDAP_SYNC_MESSAGE_H
#define DIRECTORY_STORE_LDAP_SYNC_MESSAGE_H

#include "directory/store/ldap/map/map.h"
#include "directory/store/ldap/sync/value.h"
#include <ldap.h>

/* Starts content synchronisation below BASE with COOKIE: returns the message ID; or a negative code
 * of libldap. */
int message_ask_sync(LDAP *ld, const char *base, char *const *attributes, struct str cookie);

/* Parses MESSAGE, an entry; arrays are in ARENA, texts in MESSAGE. -EBADMSG: malformed. */
MUST_CHECK int message_entry(LDAP *ld, LDAPMessage *message, struct arena *arena,
			     struct entry *entry_out);
/* Parses the Sync State control of an entry. -EBADMSG. */
MUST_CHECK int message_sync_state(LDAP *ld, LDAPMessage *message, struct arena *arena,
				  struct sync_state_value *value_out);
/* Parses an intermediate message. -EBADMSG; -ENOMSG: it is of another kind. */
MUST_CHECK int message_sync_info(LDAP *ld, LDAPMessage *message, struct arena *arena,
				 struct sync_info_value *value_out);

#endif
