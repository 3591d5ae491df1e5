// SPDX-License-Identifier: ISC
/*
 * world/settings.h - the nodes of a world, and what their configurations say.
 */
#ifndef WORLD_SETTINGS_H
#define WORLD_SETTINGS_H

#include "kernel.h"

enum { NODES_MAX = 2, SETTINGS_SIZE = 4096, SETTINGS_ONCE = 2 };

struct settings_node {
	const char *name;
	const char *domain;
	const char *pipes; /* a domain whose mail programs take */
	/* Domains whose mail is filed once, where mail is (settings_file_once()). */
	const char *once[SETTINGS_ONCE];
	const char *host;
	uint32_t address;
	const char *config;
};

/* The second one may use and change the directory of the first. */
extern const struct settings_node settings_nodes[NODES_MAX];

/* So a configuration begins. */
#define SETTINGS_SYNC "queue_sync = "

/* So the line begins that says how many places "remote" has. */
#define SETTINGS_PLACES "transport remote { concurrency = "

/* Whether nodes have services of kind mailbox from now on. */
void settings_file_once(bool is_so);
/* What the configuration of that node says, with MODE of queue_sync. */
void settings_write(size_t index, const char *mode, char settings[SETTINGS_SIZE]);
/* The machine of that node. SETTINGS: its configuration, with any mode of queue_sync. */
struct machine *settings_new_node(size_t index, char settings[SETTINGS_SIZE]);

#endif
