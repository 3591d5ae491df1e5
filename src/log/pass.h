// SPDX-License-Identifier: ISC
/*
 * log/pass.h - lines of another process, on their way into this one's log.
 *
 * A process that was broken into writes what it likes. What is passed on of it is what it could
 * have said by log/event.h about itself: one whole line, which begins with a time, a level, its own
 * name and an event, says none of these a second time, and holds no control character.
 */
#ifndef LOG_PASS_H
#define LOG_PASS_H

#include "base/attributes.h"
#include "base/str.h"

/* Writes LINE, without its newline, if it is one of PROCESS ("smtpd[4711]"). False: nothing was
 * written. */
MUST_CHECK bool log_pass(struct str process, struct str line);
/* Whether there is room for more: what nobody takes is dropped, and counted as lost. */
bool log_pass_has_room(void);

#endif
