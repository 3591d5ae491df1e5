// SPDX-License-Identifier: ISC
/*
 * queue/adopt/internal.h - what the files of an adoption share.
 */
#ifndef QUEUE_ADOPT_INTERNAL_H
#define QUEUE_ADOPT_INTERNAL_H

#include "queue/control/control.h"

/* The envelope of CONTROL's message with the recipients that are not done. HAS_BOUNCE: its
 * failures are not reported yet, so they count as not done. Freed by the caller before CONTROL,
 * whose texts it borrows. */
struct mail_envelope *adopt_remaining(const struct queue_control *control, bool has_bounce);

#endif
