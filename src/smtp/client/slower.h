// SPDX-License-Identifier: ISC
/*
 * smtp/client/slower.h - which replies of a server say that it gets too much mail from us. Pure.
 *
 * There is no standard for it: the code 421 with an enhanced status 4.7.x comes next to one (RFC
 * 3463: security or policy). The rest is what large providers and common servers are known to say.
 * What is about a single mailbox (4.2.x) is not meant, nor is greylisting.
 */
#ifndef SMTP_CLIENT_SLOWER_H
#define SMTP_CLIENT_SLOWER_H

#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

/* No server keeps mail from us for longer. */
#define SMTP_CLIENT_SLOWER_MAX_US INT64_C(3600000000)

/* Whether a reply with CODE and TEXT (its lines without the codes) says so. *WAIT_US_OUT: for how
 * long it wants nothing, if it says that; else 0. */
bool smtp_client_is_slower(unsigned code, struct str text, int64_t *wait_us_out);
/* Whether TEXT says that a first attempt is refused. */
bool smtp_client_is_greylisting(struct str text);

#endif
