// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/drain.h - RUN/draining: while this file is there, the node in RUN takes in no
 * mail from the network, also after it was started again. The supervisor, who looks for it each
 * second, answers with RUN/drained.
 */
#ifndef SUPERVISOR_TALK_DRAIN_H
#define SUPERVISOR_TALK_DRAIN_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Makes the file, or removes it; no error if it is so already. -errno. */
MUST_CHECK int drain_want(const char *run, bool is_wanted);
bool drain_is_wanted(const char *run);
/* Since when; false: it is not wanted. */
bool drain_since(const char *run, int64_t *since_us_out);
/* By the supervisor: it is so now. */
MUST_CHECK int drain_confirm(const char *run, bool is_draining);
/* Whether the supervisor has said so. */
bool drain_is_confirmed(const char *run, bool is_draining);

#endif
