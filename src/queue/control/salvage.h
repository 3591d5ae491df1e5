// SPDX-License-Identifier: ISC
/*
 * queue/control/salvage.h - what a disk has left of the envelope after a message's data.
 *
 * Nothing of a damaged envelope is believed but what its checksum proves: it is right as it stands,
 * and only the line that says where it begins is not; or it becomes right by a change of one bit.
 * Of any other only people are told what can be read.
 */
#ifndef QUEUE_CONTROL_SALVAGE_H
#define QUEUE_CONTROL_SALVAGE_H

#include "queue/control/control.h"

enum { QUEUE_SALVAGE_MAX = 4096 }; /* bytes of an envelope in which a bit is looked for */

/* FILE is a data file found in todo/STAGE under NUMBER. 0 and *CONTROL_OUT, freed by the caller,
 * not mapped: its sender is empty, and it has no recipients, where none can be read, and the birth
 * in its id is 0. *IS_PROVEN_OUT: the whole envelope is as it was written, and belongs there.
 * -EPROTO: it is not proven, and says that a later version has written it. -EIO ... */
MUST_CHECK int queue_salvage_read(int file, enum mail_stage stage, uint64_t number,
				  struct queue_control **control_out, bool *is_proven_out);

#endif
