// SPDX-License-Identifier: ISC
/*
 * log/pass.h - passes lines of another process on to this one's log.
 *
 * A compromised process writes whatever it likes. Only lines are passed on that it could have
 * written about itself with log/event.h: one complete line, which begins with a time, a level, the
 * process's own name and an event, repeats none of these, and contains no control characters.
 */
#ifndef LOG_PASS_H
#define LOG_PASS_H

#include "base/attributes.h"
#include "base/str.h"

/* Writes LINE, without its newline, if it is one of PROCESS ("smtpd[4711]"). False: nothing was
 * written. */
MUST_CHECK bool log_pass(struct str process, struct str line);
/* Whether there is room for more: lines that nobody reads are dropped, and counted as lost. */
bool log_pass_has_room(void);

#endif
