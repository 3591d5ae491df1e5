// SPDX-License-Identifier: ISC
/*
 * world/settings.h - the nodes of a world, and what their configurations say: one, or two that
 * relay to each other, unless cluster.h says that they are one mail system.
 */
#ifndef WORLD_SETTINGS_H
#define WORLD_SETTINGS_H

#include "kernel.h"

enum { NODES_MAX = 6, RELAYING_MAX = 2, SETTINGS_SIZE = 4096, SETTINGS_ONCE = 2 };

struct settings_node {
	const char *name;
	const char *domain;
	const char *pipes; /* a domain whose mail programs take */
	/* Domains whose mail is filed once, where mail is (settings_file_once()). */
	const char *once[SETTINGS_ONCE];
	const char *host;
	uint32_t address;
	const char *address_text;
	const char *config; /* besides what all have */
};

/* Of two that relay to each other the second one may use and change the directory of the first. */
extern const struct settings_node settings_relaying[RELAYING_MAX];

/* How the paths of certificate and key, and of whom one believes, are set. */
#define SETTINGS_TLS                                                       \
	"certificate = \"/etc/certificate\"  key = \"/etc/certificate\"  " \
	"authority = \"/etc/authority\""

/* So a configuration begins. */
#define SETTINGS_SYNC "queue_sync = "

/* So the section begins that says how "remote" delivers, and its line about how many places that
 * has. */
#define SETTINGS_REMOTE "transport remote { "
#define SETTINGS_PLACES SETTINGS_REMOTE "concurrency = "

/* The world has NODES, and their services have SERVICES among their settings; both are borrowed. */
void settings_use(const struct settings_node *nodes, const char *services);
/* Node INDEX. */
const struct settings_node *settings_node(size_t index);
/* Whether nodes have services of kind mailbox from now on. */
void settings_file_once(bool is_so);
/* What the configuration of that node says, with MODE of queue_sync. */
void settings_write(size_t index, const char *mode, char settings[SETTINGS_SIZE]);
/* The machine of that node. SETTINGS: its configuration, with any mode of queue_sync. */
struct machine *settings_new_node(size_t index, char settings[SETTINGS_SIZE]);

#endif
