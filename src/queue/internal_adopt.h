// SPDX-License-Identifier: ISC
/*
 * queue/internal_adopt.h - what the files of an adoption share.
 */
#ifndef QUEUE_INTERNAL_ADOPT_H
#define QUEUE_INTERNAL_ADOPT_H

#include "queue/control.h"

/* The envelope of CONTROL's message with the recipients that are not done. HAS_BOUNCE: its
 * failures are not reported yet, so they count as not done. Freed by the caller before CONTROL,
 * whose texts it borrows. */
struct mail_envelope *adopt_remaining(const struct queue_control *control, bool has_bounce);

#endif
