// SPDX-License-Identifier: ISC
/*
 * queue/control/trigger_name.h - the names of triggers (queue/trigger.h), as control files have
 * them. Pure.
 */
#ifndef QUEUE_CONTROL_TRIGGER_NAME_H
#define QUEUE_CONTROL_TRIGGER_NAME_H

#include "base/str.h"

enum { QUEUE_TRIGGER_MAX = 200 }; /* bytes of a name */

/* What is valid, in words. */
#define QUEUE_TRIGGER_NAMES \
	"1 to 200 lower-case letters, digits and \"-_.:[]\", not with a dot in front"
/* Of what operators let messages wait for. */
#define QUEUE_TRIGGER_NAMES_TO_WAIT_FOR \
	QUEUE_TRIGGER_NAMES "; none that the mail system sets itself"

/* 1 to QUEUE_TRIGGER_MAX lower-case letters, digits and "-_.:[]"; not beginning with '.'. */
bool queue_trigger_name_is_valid(struct str name);

/* What a trigger is for, by its name. */
enum queue_trigger_kind {
	QUEUE_TRIGGER_OTHER,     /* operators and other programs release it */
	QUEUE_TRIGGER_HOST,      /* host.NAME: until that host answers */
	QUEUE_TRIGGER_SERVICE,   /* service.NAME, service.NAME.SERVER: until it answers */
	QUEUE_TRIGGER_HOLD,      /* hold.ID: an operator holds this message */
	QUEUE_TRIGGER_PIPE,      /* pipe.SERVICE.NAME: named by a local program */
	QUEUE_TRIGGER_DIRECTORY, /* directory: until it answers */
	QUEUE_TRIGGER_CLASS,     /* class.MASK: until that class of hosts has a place */
	QUEUE_TRIGGER_NODES,     /* nodes.GROUP: until a node of the group can be reached */
	QUEUE_TRIGGER_NODE,      /* node.NAME: until that node says what it has */
};

enum queue_trigger_kind queue_trigger_kind(struct str name);
/* Whether names of this kind are made by the mail system itself: all kinds but OTHER. A user may
 * not make a message wait for one of them. */
bool queue_trigger_name_is_ours(struct str name);

#endif
