// SPDX-License-Identifier: ISC
/*
 * deliver/remote_form.h - a message with 8-bit data, for a server that takes 7 bits.
 *
 * It is read three times, in pieces: to see what must be converted, to know the size of that
 * for the server, and to send it.
 */
#ifndef DELIVER_REMOTE_FORM_H
#define DELIVER_REMOTE_FORM_H

#include "base/attributes.h"
#include "ipc/content.h"

struct remote_form;

enum remote_form_state {
	REMOTE_FORM_UNKNOWN, /* not all of it was looked at */
	REMOTE_FORM_READY,
	REMOTE_FORM_SEALED,   /* signed or encrypted: nobody may convert it */
	REMOTE_FORM_UNPARSED, /* its parts cannot be told apart */
};

/* What CONTENT refers to is borrowed. BREAKS_LINES: its long lines will be broken. */
struct remote_form *remote_form_new(const struct ipc_content *content, bool breaks_lines);
void remote_form_free(struct remote_form *form);

/* Looks at the next 2 MiB at most. BLOCK: REMOTE_CHUNK_SIZE bytes to work with. 0 or -errno. */
MUST_CHECK int remote_form_look(struct remote_form *form, char *block,
				enum remote_form_state *state_out);
/* When it is READY: its size, with what the breaks add. */
uint64_t remote_form_size(const struct remote_form *form);
/* The next bytes to send, valid until the next call; *IS_LAST_OUT with the last of them. */
MUST_CHECK int remote_form_read(struct remote_form *form, char *block, struct str *part_out,
				bool *is_last_out);

#endif
