// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/sync/value.h - the values of content synchronisation: RFC 4533 section 2, in
 * BER.
 */
#ifndef DIRECTORY_STORE_LDAP_SYNC_VALUE_H
#define DIRECTORY_STORE_LDAP_SYNC_VALUE_H

#include "base/arena.h"
#include "base/attributes.h"
#include "base/buffer.h"

enum { SYNC_UUID_SIZE = 16 };

struct sync_uuid {
	uint8_t bytes[SYNC_UUID_SIZE];
};

enum sync_state { SYNC_PRESENT, SYNC_ADD, SYNC_MODIFY, SYNC_DELETE };

/* The Sync State control of an entry (2.2). */
struct sync_state_value {
	enum sync_state state;
	struct sync_uuid uuid;
	struct str cookie; /* empty: none */
};

enum sync_info {
	SYNC_NEW_COOKIE,
	SYNC_REFRESH_DELETE,  /* all deleted entries have been reported */
	SYNC_REFRESH_PRESENT, /* all remaining entries have been reported */
	SYNC_ID_SET,
};

/* The Sync Info message (2.5). */
struct sync_info_value {
	enum sync_info info;
	struct str cookie;
	bool is_refresh_done; /* of the second and third */
	bool are_deleted;     /* of the last: UUIDS were deleted, otherwise they are present */
	const struct sync_uuid *uuids;
	size_t uuid_count;
};

/* Appends the value of the Sync Request control (2.2) to OUT: refreshAndPersist with COOKIE, or, if
 * that is empty, from the beginning. */
void ldap_sync_request_encode(struct str cookie, struct buffer *out);
/* 0 and *VALUE_OUT, with texts in ARENA; -EBADMSG: DATA is malformed. */
MUST_CHECK int sync_state_decode(struct str data, struct arena *arena,
				 struct sync_state_value *value_out);
MUST_CHECK int sync_info_decode(struct str data, struct arena *arena,
				struct sync_info_value *value_out);

#endif
