// SPDX-License-Identifier: ISC
/*
 * node/status.h - what a node says of itself to other nodes: an object of JSON (stagepost-node(7)).
 *
 *   release        its version of Stagepost
 *   time           its clock
 *   configuration  "version", a checksum of what is in force, and "sections", one checksum
 *                  of each kind of section (config_each_checksum())
 *   directory      identity and version of its data, as this node knows them; "answers":
 *                  whether it does so now
 *   record         of this node, as it knows it: state, weight, groups
 *   queue          what its "send" knows (manager/link/status.h); or "problem": why that is
 *                  not there
 *
 * Who reads it shows fields that it does not know, too: a later version may have more.
 */
#ifndef NODE_STATUS_H
#define NODE_STATUS_H

#include "base/buffer.h"
#include "config/config.h"
#include "directory/client/nodes.h"

/* Appends the object, at most NODE_STATUS_MAX bytes, to OUT. QUEUE: an object, from "send"; if it
 * is empty or does not fit, PROBLEM, or that, is said. */
void node_status_write(const struct config *config, const struct directory_nodes *nodes,
		       struct str queue, const char *problem, struct buffer *out);

#endif
