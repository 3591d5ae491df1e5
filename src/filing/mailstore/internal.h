// SPDX-License-Identifier: ISC
/* filing/mailstore/internal.h - what stores have in common. */
#ifndef FILING_MAILSTORE_INTERNAL_H
#define FILING_MAILSTORE_INTERNAL_H

#include "base/buffer.h"
#include "filing/mailstore/mailstore.h"

/* Whether FOLDER is the INBOX, whose name has no case. */
bool mailstore_folder_is_inbox(struct str folder);
/* Appends FOLDER in modified UTF-7 (RFC 3501 section 5.1.3), with SEPARATOR between its levels. The
 * result is printable ASCII without '/', unless that is SEPARATOR. -EINVAL: it begins with '~', or
 * a level is empty or has SEPARATOR, a control character, or what is not UTF-8; then OUT is
 * unchanged. */
MUST_CHECK int mailstore_folder_append(struct str folder, char separator, struct buffer *out);

/* Whether a message that begins with HEADER can be that of LOCATION, as far as the Message-ID
 * tells.
 */
bool mailstore_compare_header(const struct mailstore_location *location, struct str header);
/* Whether CONTENT is the message of LOCATION: 1, 0 or -errno. Reads all of it. */
MUST_CHECK int mailstore_compare(const struct mailstore_location *location,
				 const struct ipc_content *content);
/* Whether the Message-ID of LOCATION is not one that a header field has. */
bool mailstore_compare_is_derived(const struct mailstore_location *location);

/* Whether APPEND may be made now, as GATE (NULL: yes) says; otherwise it has its verdict. */
bool mailstore_may_append(const struct mailstore_gate *gate, struct mailstore_append *append);

/* Sets STORE's error, made safe for a line. */
void mailstore_error_set(struct mailstore *store, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
