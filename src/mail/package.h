// SPDX-License-Identifier: ISC
/*
 * mail/package.h - what one node hands over to another: the names of nodes and packages.
 *
 * A package is a message, or some of its deliveries. Its name is the message's id at the node that
 * hands it over, "457-63f1a2b3c4d5e", and, if it is not the whole message, the number of its first
 * delivery: "457-63f1a2b3c4d5e.3". Both names are names of files, too (queue/handed.h).
 */
#ifndef MAIL_PACKAGE_H
#define MAIL_PACKAGE_H

#include "mail/envelope.h"

enum {
	MAIL_NODE_MAX = 64,                    /* bytes of a node's name */
	MAIL_PACKAGE_SIZE = MAIL_ID_SIZE + 11, /* of a package's name, with a NUL */
	MAIL_VIA_MAX = 20,                     /* hops between nodes that a message may make */
};

/* Lower-case letters, digits, '-' and '.', not "." or ".."; 1 to MAIL_NODE_MAX bytes. */
bool mail_node_is_valid(struct str name);

struct mail_package {
	struct mail_id id;
	uint32_t first; /* number of its first delivery; 0: it is the whole message */
};

void mail_package_format(struct mail_package package, char text[MAIL_PACKAGE_SIZE]);
/* Only as mail_package_format() writes it: no package has two names. */
bool mail_package_parse(struct str text, struct mail_package *package_out);
/* "NODE/PACKAGE": *NODE_OUT and *NAME_OUT (may be NULL) are views of TEXT. */
bool mail_package_split(struct str text, struct str *node_out, struct str *name_out);

#endif
