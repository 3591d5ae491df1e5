// SPDX-License-Identifier: ISC
/*
 * deliver/shape/rules.h - which section destination of the configuration is for some mail, and for
 * whom its numbers are. Pure.
 */
#ifndef DELIVER_SHAPE_RULES_H
#define DELIVER_SHAPE_RULES_H

#include "base/buffer.h"
#include "config/config.h"

/* What goes where; names in lower case. */
struct shape_subject {
	struct str domain; /* of the recipients */
	struct str host;   /* the server: its name, or its address */
	uint16_t port;     /* of it: another one is another server */
};

/* The first section for SUBJECT; NULL: none. */
const struct config_destination *shape_rules_find(const struct config *config,
						  const struct shape_subject *subject);
/* For whom DESTINATION's numbers are when SUBJECT is sent, as a name. A view of SUBJECT. */
struct str shape_rules_bearer(const struct config_destination *destination,
			      const struct shape_subject *subject);
/* The registered domain of the host NAME ("google.com"); NAME if it has none. A view of NAME. */
struct str shape_rules_owner(struct str name);

#endif
