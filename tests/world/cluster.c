// SPDX-License-Identifier: ISC
#include "cluster.h"
#include "command.h"
#include "mail.h"
#include "people.h"
#include "settings.h"
#include <err.h>
#include <stdio.h>
#include <string.h>

enum { ODDS = 8, GROUPS = 3, CONFIG_SIZE = 1536, LINE_SIZE = 64, ARGUMENTS = 16, WEIGHTS = 4 };
enum state { ACTIVE, DRAINING, AWAY, STATES };

static const char *const groups[GROUPS] = {"core", "out", "box"};
static const char *const states[STATES] = {"active", "draining", "away"};

static const struct {
	const char *name, *host, *address;
	uint32_t number;
} places[NODES_MAX] = {
	{"one", "mx.one.example", "10.0.0.1", 0x0a000001},
	{"two", "mx.two.example", "10.0.0.4", 0x0a000004},
	{"three", "mx.three.example", "10.0.0.5", 0x0a000005},
	{"four", "mx.four.example", "10.0.0.6", 0x0a000006},
	{"five", "mx.five.example", "10.0.0.7", 0x0a000007},
	{"six", "mx.six.example", "10.0.0.11", 0x0a00000b},
};

struct member {
	unsigned groups; /* a bit each */
	enum state state;
	unsigned weight;
	bool is_entry;
	char config[CONFIG_SIZE];
};

static struct {
	struct member members[NODES_MAX];
	struct settings_node nodes[NODES_MAX];
	size_t count;
	size_t entries[CLUSTER_ENTRIES_MAX];
	size_t entry_count;
	struct machine *directory;
	int64_t pause_us;
	int64_t quiet_from_us;
	size_t unsaid; /* whose record is said next, until that of LAST is */
	size_t last;
	int64_t change_us; /* when a node gets another state or weight */
	bool is_over;
	void (*done)(bool is_good);
} cluster;

size_t cluster_size(uint64_t seed)
{
	uint64_t stream = seed ^ UINT64_C(0x636c7573746572);

	if (seed <= UINT32_MAX || kernel_random_of(&stream) % ODDS != 0)
		return 0;
	return CLUSTER_MIN + kernel_random_of(&stream) % (NODES_MAX - CLUSTER_MIN + 1);
}

/* --- who does what --- */

static void add_entry(size_t index)
{
	cluster.members[index].is_entry = true;
	cluster.entries[cluster.entry_count++] = index;
}

/* Each group has somebody, and those who take mail in do nothing else, but one in four. */
static void choose_groups(void)
{
	const size_t count = cluster.count;

	add_entry(kernel_below(count));
	if (count > CLUSTER_MIN && kernel_one_in(2))
		add_entry((cluster.entries[0] + 1 + kernel_below(count - 1)) % count);
	for (size_t i = 0; i < count; i++)
		if (!cluster.members[i].is_entry || kernel_one_in(4))
			cluster.members[i].groups =
				1u << kernel_below(GROUPS) | (unsigned)kernel_below(1 << GROUPS);
	for (unsigned group = 0; group < GROUPS; group++) {
		size_t some = kernel_below(count);

		while (cluster.members[some].is_entry)
			some = (some + 1) % count;
		cluster.members[some].groups |= 1u << group;
	}
}

/* One file stands on all nodes, but for what is the node's own. */
static void write_config(size_t index, unsigned doubt_s)
{
	char others[NODES_MAX * LINE_SIZE] = "";
	size_t used = 0;
	int length;
	char *config = cluster.members[index].config;

	for (size_t i = 1; i < cluster.count; i++)
		used += (size_t)snprintf(others + used, sizeof others - used, "%s\"%s\"",
					 i > 1 ? ", " : "", places[i].host);
	length = snprintf(
		config, CONFIG_SIZE,
		"smtproutes = { \"hop.example:10.0.0.3\" }\n"
		"node { name = \"%s\"  listen = { \"%s:7072\" }  doubt = %us\n" SETTINGS_TLS " }\n"
		"stage arrive { nodes = core }\n"
		"stage submit { nodes = core }\n" SETTINGS_REMOTE "nodes = out }\n",
		places[index].host, places[index].address, doubt_s);
	if (index == 0)
		length += snprintf(config + length, CONFIG_SIZE - (size_t)length,
				   "directory { path = \"" PEOPLE_STORE "\"  listen = { "
				   "\"%s:7071\" }\n" SETTINGS_TLS " changers = { %s } }\n",
				   places[0].address, others);
	else
		length += snprintf(
			config + length, CONFIG_SIZE - (size_t)length,
			"directory { backend = servers  servers = { \"%s:7071\" }\n" SETTINGS_TLS
			" }\n",
			places[0].host);
	if (length >= CONFIG_SIZE)
		errx(1, "%s has too many settings", places[index].name);
}

void cluster_begin(size_t count)
{
	const unsigned doubt_s = 30u << kernel_below(5);

	memset(&cluster, 0, sizeof cluster);
	cluster.count = count;
	choose_groups();
	for (size_t i = 0; i < count; i++) {
		struct settings_node *node = &cluster.nodes[i];

		cluster.members[i].weight = 1;
		write_config(i, doubt_s);
		*node = settings_relaying[0]; /* whose domains all have */
		node->name = places[i].name;
		node->host = places[i].host;
		node->address = places[i].number;
		node->address_text = places[i].address;
		node->config = cluster.members[i].config;
	}
	settings_use(cluster.nodes, "  nodes = box");
}

size_t cluster_entry_count(void)
{
	return cluster.entry_count;
}

uint32_t cluster_entry(size_t index)
{
	return places[cluster.entries[index]].number;
}

/* --- the table of nodes --- */

static void said(void *context, int status, const char *output)
{
	(void)context;
	world_log("nodes", "%s: status %d%s%.*s", places[cluster.unsaid].name, status,
		  *output != '\0' ? ", " : "", (int)strcspn(output, "\n"), output);
	if (status == 0)
		cluster.unsaid++;
	cluster.done(status == 0);
}

static void say_record(size_t index)
{
	const struct member *member = &cluster.members[index];
	const char *arguments[ARGUMENTS] = {"node", "put", places[index].host};
	char fields[GROUPS + 3][LINE_SIZE];
	size_t count = 0;

	snprintf(fields[count++], LINE_SIZE, "address=%s:7072", places[index].address);
	snprintf(fields[count++], LINE_SIZE, "weight=%u", member->weight);
	snprintf(fields[count++], LINE_SIZE, "state=%s", states[member->state]);
	for (unsigned group = 0; group < GROUPS; group++)
		if ((member->groups & 1u << group) != 0)
			snprintf(fields[count++], LINE_SIZE, "group=%s", groups[group]);
	for (size_t i = 0; i < count; i++)
		arguments[3 + i] = fields[i];
	world_log("nodes", "%s becomes %s, weight %u, groups %x", places[index].name,
		  states[member->state], member->weight, member->groups);
	command_run(cluster.directory, "stagepost", arguments, said, NULL);
}

static void plan_change(void)
{
	cluster.change_us =
		kernel_now_us() + 1 + (int64_t)kernel_below(2 * (uint64_t)cluster.pause_us);
}

static void change_one(void)
{
	struct member *member = &cluster.members[kernel_below(cluster.count)];

	member->weight = 1 + (unsigned)kernel_below(WEIGHTS);
	member->state = kernel_one_in(2) ? ACTIVE : (enum state)kernel_below(STATES);
	cluster.unsaid = (size_t)(member - cluster.members);
	cluster.last = cluster.unsaid;
	plan_change();
}

static void be_all_active(void)
{
	for (size_t i = 0; i < cluster.count; i++)
		cluster.members[i].state = ACTIVE;
	cluster.unsaid = 0;
	cluster.last = cluster.count - 1;
	cluster.is_over = true;
}

bool cluster_change(void (*done)(bool is_good))
{
	const bool is_quiet = kernel_now_us() >= cluster.quiet_from_us;

	cluster.done = done;
	if (cluster.unsaid > cluster.last && !cluster.is_over && is_quiet)
		be_all_active();
	else if (cluster.unsaid > cluster.last && !cluster.is_over &&
		 kernel_now_us() >= cluster.change_us)
		change_one();
	if (cluster.unsaid > cluster.last)
		return false;
	say_record(cluster.unsaid);
	return true;
}

void cluster_be_quiet(void)
{
	if (cluster.quiet_from_us > kernel_now_us())
		cluster.quiet_from_us = kernel_now_us();
}

void cluster_start(struct machine *node, int64_t pause_us, int64_t quiet_from_us)
{
	cluster.directory = node;
	cluster.pause_us = pause_us;
	cluster.quiet_from_us = quiet_from_us;
	cluster.last = cluster.count - 1;
	plan_change();
}
