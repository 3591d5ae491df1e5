// SPDX-License-Identifier: ISC
/* world/options.h - which world is lived through, from the words of the command line (world.c). */
#ifndef WORLD_OPTIONS_H
#define WORLD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct world_options {
	uint64_t seed;
	int64_t hours;
	uint64_t messages;
	uint64_t burst;  /* messages */
	uint64_t places; /* 0: as many as a node has by itself */
	size_t nodes;    /* that relay to each other; 0: the seed decides */
	size_t cluster;  /* nodes that are one mail system; 0: there are none */
	uint64_t strikes;
	uint64_t rots; /* unless that is said, some with one seed in eight that has faults */
	const char *until;
	FILE *log;
	bool is_calm;
	bool is_idle;
	bool is_whole;
	bool has_providers; /* unless that is said, half of the seeds */
	bool files_once;    /* likewise; independently of that */
};

/* Wrong words, and more nodes than there may be, end the program with what is right. */
struct world_options world_options_read(int argc, char **argv);

#endif
