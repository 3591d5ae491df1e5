// SPDX-License-Identifier: ISC
/*
 * world/node.h - a machine that runs Stagepost.
 */
#ifndef WORLD_NODE_H
#define WORLD_NODE_H

#include "kernel.h"

/* The product's programs can be started. Once in a world. */
void node_add_programs(void);
/* A machine with the settings TEXT in its file. */
struct machine *node_new(const char *name, uint32_t address, const char *text);
/* Its file has these settings from the next start or reload on. */
void node_set(struct machine *machine, const char *text);
/* Runs "stagepost serve" there. */
struct process *node_start(struct machine *machine);
/* The supervisor; NULL when none runs. */
struct process *node_supervisor(const struct machine *machine);
/* A process of MACHINE that runs PROGRAM, chance decides which; NULL: there is none. PROGRAM NULL:
 * any of the product's. */
struct process *node_process(const struct machine *machine, const char *program);

/* All of its processes are gone, and of its files what the disk kept (disk.h). The system empties
 * the directory of the sockets when it starts. */
void node_cut_power(struct machine *machine);

#endif
