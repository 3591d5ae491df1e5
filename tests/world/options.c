// SPDX-License-Identifier: ISC
#include "options.h"
#include "cluster.h"
#include "settings.h"
#include <err.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { ROTS = 64 };

static void usage(void)
{
	fprintf(stderr, "usage: world SEED [--hours=N] [--messages=N] [--nodes=N] [--strikes=N] "
			"[--until=TEXT] [--log=FILE] [--burst=N] [--places=N] [--calm] [--idle] "
			"[--whole] [--providers|--no-providers] "
			"[--once|--no-once] [--rots=N] [--cluster=N]\n");
	exit(2);
}

static void take_option(struct world_options *options, int option)
{
	if (option == 'h')
		options->hours = atoll(optarg);
	else if (option == 'm')
		options->messages = strtoull(optarg, NULL, 10);
	else if (option == 'b')
		options->burst = strtoull(optarg, NULL, 10);
	else if (option == 'p')
		options->places = strtoull(optarg, NULL, 10);
	else if (option == 'n')
		options->nodes = strtoull(optarg, NULL, 10);
	else if (option == 'k')
		options->cluster = strtoull(optarg, NULL, 10);
	else if (option == 's')
		options->strikes = strtoull(optarg, NULL, 10);
	else if (option == 'c')
		options->is_calm = true;
	else if (option == 'i')
		options->is_idle = true;
	else if (option == 'w')
		options->is_whole = true;
	else if (option == 'r' || option == 'R')
		options->has_providers = option == 'r';
	else if (option == 'o' || option == 'O')
		options->files_once = option == 'o';
	else if (option == 't')
		options->rots = strtoull(optarg, NULL, 10);
	else if (option == 'u')
		options->until = optarg;
	else if (option == 'l')
		options->log = strcmp(optarg, "-") == 0 ? stdout : fopen(optarg, "w");
	else
		usage();
	if (option == 'l' && options->log == NULL)
		err(2, "%s", optarg);
}

/* Bursts and places are those of nodes that relay. */
static bool has_possible_nodes(const struct world_options *options)
{
	if (options->cluster == 0)
		return options->nodes <= RELAYING_MAX;
	return options->cluster >= CLUSTER_MIN && options->cluster <= NODES_MAX &&
	       options->nodes == 0 && options->burst == 0 && options->places == 0;
}

/* More nodes live as long as two would in the same time of a processor, an hour at least. */
static void choose_cluster(struct world_options *options)
{
	options->cluster = cluster_size(options->seed);
	if (options->cluster == 0)
		return;
	options->hours = options->hours * RELAYING_MAX / (int64_t)options->cluster;
	if (options->hours < 1)
		options->hours = 1;
}

struct world_options world_options_read(int argc, char **argv)
{
	static const struct option names[] = {{"burst", required_argument, NULL, 'b'},
					      {"cluster", required_argument, NULL, 'k'},
					      {"hours", required_argument, NULL, 'h'},
					      {"messages", required_argument, NULL, 'm'},
					      {"nodes", required_argument, NULL, 'n'},
					      {"places", required_argument, NULL, 'p'},
					      {"strikes", required_argument, NULL, 's'},
					      {"until", required_argument, NULL, 'u'},
					      {"calm", no_argument, NULL, 'c'},
					      {"idle", no_argument, NULL, 'i'},
					      {"providers", no_argument, NULL, 'r'},
					      {"no-providers", no_argument, NULL, 'R'},
					      {"once", no_argument, NULL, 'o'},
					      {"no-once", no_argument, NULL, 'O'},
					      {"rots", required_argument, NULL, 't'},
					      {"whole", no_argument, NULL, 'w'},
					      {"log", required_argument, NULL, 'l'},
					      {0}};
	struct world_options options = {.hours = 24, .messages = 500, .strikes = UINT64_MAX};
	bool is_said = false;      /* who the next hop is */
	bool is_said_once = false; /* whether mail is filed once */
	bool is_said_rots = false; /* how much disks rot */
	bool is_said_nodes = false;
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		is_said |= option == 'r' || option == 'R';
		is_said_once |= option == 'o' || option == 'O';
		is_said_rots |= option == 't';
		is_said_nodes |= option == 'n' || option == 'k' || option == 'b' || option == 'p';
		take_option(&options, option);
	}
	if (optind + 1 != argc || !has_possible_nodes(&options))
		usage();
	options.seed = strtoull(argv[optind], NULL, 10);
	if (!is_said_nodes)
		choose_cluster(&options);
	if (!is_said)
		options.has_providers = options.seed % 2 == 0;
	if (!is_said_once)
		options.files_once = options.seed % 4 < 2;
	if (!is_said_rots && options.seed % 8 == 5 && !options.is_calm && options.cluster == 0)
		options.rots = ROTS;
	return options;
}
