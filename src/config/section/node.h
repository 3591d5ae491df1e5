// SPDX-License-Identifier: ISC
/*
 * config/section/node.h - section node: this machine among others of the same mail system, and
 * sections stage: where mail is mapped that is queued here.
 */
#ifndef CONFIG_SECTION_NODE_H
#define CONFIG_SECTION_NODE_H

#include "config/section/address.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config_node {                     /* node { ... } */
	bool is_given;                   /* there is such a section */
	const char *name;                /* "": config_node_name() */
	struct config_endpoint *listens; /* mutual TLS */
	size_t listen_count;
	const char *certificate; /* PEM files; "": none */
	const char *key;
	const char *authority;
	int64_t doubt_us; /* how long mail waits for a node that may have it already */
};

struct config_stage {      /* stage submit { ... }, stage arrive { ... } */
	const char *nodes; /* the group of nodes that map its mail; "": this one does */
};

#endif
