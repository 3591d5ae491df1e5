// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/nodes.h - has the running manager ask all nodes for their status, and fetches what
 * they answer (manager/link/answers.h).
 */
#ifndef SUPERVISOR_TALK_NODES_H
#define SUPERVISOR_TALK_NODES_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Appends the answers, an array of JSON, to TEXT. MESSAGE: "NODE/ID", of which they say what they
 * know, or empty. 1: it was refused, and REASON (appended) says why; -errno, which
 * manager_talk_explain() explains; -EAGAIN: another question was under way for long. */
MUST_CHECK int nodes_talk_ask(const char *run, struct str message, struct buffer *text,
			      struct buffer *reason);

#endif
