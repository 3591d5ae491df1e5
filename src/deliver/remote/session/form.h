// SPDX-License-Identifier: ISC
/*
 * deliver/remote/session/form.h - a message with 8-bit data, or a binary one, converted for a
 * server that accepts only 7 bits, or only lines, or only ASCII in headers.
 *
 * It is read three times, in pieces: to see what must be converted, to tell the server the size,
 * and to send it.
 */
#ifndef DELIVER_REMOTE_SESSION_FORM_H
#define DELIVER_REMOTE_SESSION_FORM_H

#include "base/attributes.h"
#include "ipc/content.h"
#include "smtp/client/client.h"

struct remote_form;

enum remote_form_state {
	REMOTE_FORM_UNKNOWN, /* not all of it has been examined */
	REMOTE_FORM_READY,
	REMOTE_FORM_SEALED,   /* signed or encrypted: must not be converted */
	REMOTE_FORM_UNPARSED, /* its MIME parts cannot be parsed */
	REMOTE_FORM_ADDRESS,  /* an address in a header needs UTF-8 */
};

struct remote_form_rules {
	bool breaks_lines; /* long lines will be broken */
	bool is_binary;    /* it is a binary message */
	unsigned wanted; /* enum smtp_client_form; a binary message becomes SEVEN_BIT in any case */
};

/* The data of CONTENT are borrowed. */
struct remote_form *remote_form_new(const struct ipc_content *content,
				    const struct remote_form_rules *rules);
void remote_form_free(struct remote_form *form);

/* Examines the next 2 MiB at most. BLOCK: REMOTE_CHUNK_SIZE bytes of working memory. 0 or
 * -errno. */
MUST_CHECK int remote_form_look(struct remote_form *form, char *block,
				enum remote_form_state *state_out);
/* When READY: its size, including what the breaks add. */
uint64_t remote_form_size(const struct remote_form *form);
/* The next bytes to send, valid until the next call; *IS_LAST_OUT with the last of them. */
MUST_CHECK int remote_form_read(struct remote_form *form, char *block, struct str *part_out,
				bool *is_last_out);

#endif
