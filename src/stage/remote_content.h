// SPDX-License-Identifier: ISC
/*
 * stage/remote_content.h - what a message asks of the server that takes it.
 */
#ifndef STAGE_REMOTE_CONTENT_H
#define STAGE_REMOTE_CONTENT_H

#include "stage/remote_session.h"

/* Whether CONTENT may hold bytes over 127. CHUNK: REMOTE_CHUNK_SIZE bytes to work with. */
bool remote_content_is_8bit(const struct ipc_content *content, char *chunk);
/* The same for its header, as far as that is in the first chunk. */
bool remote_content_has_8bit_header(const struct ipc_content *content, char *chunk);

#endif
