// SPDX-License-Identifier: ISC
/*
 * store/ldap/message.h - libldap's messages as plain values.
 */
#ifndef STORE_LDAP_MESSAGE_H
#define STORE_LDAP_MESSAGE_H

#include "store/ldap/map.h"
#include "store/ldap/value.h"
#include <ldap.h>

/* Begins content synchronisation below BASE from COOKIE on: the number of the messages that
 * answer; or negative, a code of libldap's. */
int message_ask_sync(LDAP *ld, const char *base, char *const *attributes, struct str cookie);

/* MESSAGE, an entry; lists in ARENA, texts in MESSAGE. -EBADMSG when it cannot be read. */
MUST_CHECK int message_entry(LDAP *ld, LDAPMessage *message, struct arena *arena,
			     struct entry *entry_out);
/* What says of an entry what happened to it. -EBADMSG. */
MUST_CHECK int message_sync_state(LDAP *ld, LDAPMessage *message, struct arena *arena,
				  struct sync_state_value *value_out);
/* An intermediate message. -EBADMSG; -ENOMSG when it is of another kind. */
MUST_CHECK int message_sync_info(LDAP *ld, LDAPMessage *message, struct arena *arena,
				 struct sync_info_value *value_out);

#endif
