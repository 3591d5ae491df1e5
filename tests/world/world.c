// SPDX-License-Identifier: ISC
/*
 * world SEED [--hours=N] [--messages=N] [--nodes=N] [--strikes=N] [--until=TEXT] [--log=FILE]
 *       [--burst=N] [--places=N] [--calm] [--idle] [--whole] [--providers|--no-providers]
 *       [--once|--no-once] [--rots=N] [--cluster=N]
 *
 * One node or two that relay to each other and share a directory, clients that give them mail for
 * mailboxes and for a next hop that is not always good, name servers that are not either, people
 * who change addresses, operators, and fate (fate.h). For the second half of the time all are good,
 * and the ledger must be even. The exit status is 0 only then. --until stops at the first line of
 * the log with TEXT in it, and judges nothing. --calm: no faults. --whole: lives through all hours,
 * also when there is nothing left to be done. --idle: mail comes all the time that is not calm, and
 * faults a few times a day. --burst: so many messages more, all at once and for two destinations,
 * in the midst of the others. --places: a node has so many for remote deliveries; where there are
 * fewer than one destination may use, it matters whose turn it is. --strikes: no more than so many
 * faults. --providers: the next hop says what large providers say (replies.h); else it does so
 * with even seeds. --once: nodes have mailboxes that mail is filed into once, by "mailbox" and two
 * processes "decode" (decoder.h); else they do so with half of the seeds. --rots: so often, at
 * most, the disk of a node changes or loses something (rot.h); else some do with one seed in eight.
 * --cluster: so many nodes are one mail system (cluster.h); else three to six are with one seed in
 * eight, if nothing is said of nodes.
 */
#include "accounts.h"
#include "changes.h"
#include "cluster.h"
#include "damages.h"
#include "decoder.h"
#include "dns.h"
#include "fate.h"
#include "files.h"
#include "growth.h"
#include "judge.h"
#include "links.h"
#include "lists.h"
#include "logins.h"
#include "mail.h"
#include "node.h"
#include "operator.h"
#include "options.h"
#include "origins.h"
#include "partition.h"
#include "people.h"
#include "recorded.h"
#include "replies.h"
#include "rot.h"
#include "settings.h"
#include "states.h"
#include "trouble.h"
#include "yesterday.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	CLIENTS = 5,
	COURIERS = 2,
	SUBMITTERS = 2,
	TO_COURIERS = 10,
	BURSTING = 20,
	CHANGES = 500,
	STATE_CHANGES = 30,
	DOMAINS_MAX = 16,
	LOOKS = 100,
	PARTITIONS = 40,
	ROTS = 40 /* of a node, in the mean */
};

static const int64_t SECOND = 1000000;
static const int64_t HOUR = 3600 * INT64_C(1000000);
/* A clock that was wrong makes mail look older, and its next attempt comes later, as of one of 36
 * hours. */
static const int64_t PATIENCE = 12 * 3600 * INT64_C(1000000);

/* Who is parted from the directory uses positive answers as long as they may be kept
 * (doc/design/directory.md). */
static const int64_t PARTED_US = 3600 * INT64_C(1000000);

/* How long servers have no descriptor, at the end. */
static const int64_t LACK = 20 * INT64_C(1000000);

enum {
	CLIENT = 0x0a000002,
	HOP = 0x0a000003,
	SUBMITTER = 0x0a000008,
	NOBODY = 0x0a000009,
	STEADY = 0x0a00000a
};

struct world {
	struct fate fates[NODES_MAX];
	char settings[NODES_MAX][SETTINGS_SIZE];
	size_t node_count;
	size_t domain_count;            /* nodes with domains of their own */
	uint32_t entries[RELAYING_MAX]; /* to which clients give mail */
	size_t entry_count;
	struct machine *machines[NODES_MAX]; /* of a cluster */
	struct partition partition;
	uint64_t strikes_left;
	const char *domains[DOMAINS_MAX];       /* of whom clients write to by SMTP */
	const char *other_domains[DOMAINS_MAX]; /* and in other ways */
	struct client clients[CLIENTS];
	struct client couriers[COURIERS];
	struct client others[COURIERS]; /* by LMTP */
	struct client submitters[SUBMITTERS];
	struct client bursting[BURSTING]; /* the first BURSTING_COUNT */
	size_t bursting_count;
	uint64_t burst;            /* of all of them */
	struct machine *outside;   /* where they are */
	struct machine *strangers; /* where those are who log in */
	struct hop hop;
	struct hop steady; /* with a burst */
};

static uint64_t left_in_queues(const struct world *world)
{
	uint64_t left = 0;

	for (size_t i = 0; i < world->node_count; i++)
		left += left_in_queue(world->fates[i].node);
	return left;
}

static bool is_given(const struct world *world)
{
	bool all = true;

	for (size_t i = 0; i < CLIENTS; i++)
		all = all && world->clients[i].is_done;
	for (size_t i = 0; i < COURIERS; i++)
		all = all && world->couriers[i].is_done && world->others[i].is_done;
	for (size_t i = 0; i < SUBMITTERS; i++)
		all = all && world->submitters[i].is_done;
	for (size_t i = 0; i < world->bursting_count; i++)
		all = all && world->bursting[i].is_done;
	return all;
}

static bool is_done(const struct world *world)
{
	return is_given(world) && ledger_is_done() && left_in_queues(world) == 0;
}

/* How much of the time that messages were in a queue was judged. */
static void print_judged(void)
{
	int64_t all_us, judged_us;

	waiting_sum(&all_us, &judged_us);
	printf(", %.1f %% of %.1f hours judged",
	       all_us > 0 ? 100.0 * (double)judged_us / (double)all_us : 100.0,
	       (double)all_us / (double)HOUR);
}

static bool judge(const struct world_options *options, const struct world *world, uint64_t left)
{
	struct ledger_sums sums;

	ledger_sum(&sums);
	ledger_tell();
	printf("seed %llu: fingerprint %016llx, %lld simulated seconds, %llu promised for "
	       "%llu, %llu delivered, %llu lost, %llu changed, %llu twice, %llu of them without an "
	       "excuse, "
	       "%llu left in queues%s",
	       (unsigned long long)options->seed, (unsigned long long)world_fingerprint(),
	       (long long)(kernel_now_us() / SECOND), (unsigned long long)sums.messages,
	       (unsigned long long)sums.promised, (unsigned long long)sums.delivered,
	       (unsigned long long)sums.lost, (unsigned long long)sums.changed,
	       (unsigned long long)sums.twice, (unsigned long long)sums.unexcused,
	       (unsigned long long)left, is_given(world) ? "" : "; a client waits still");
	print_judged();
	damages_print();
	if (options->cluster > 0)
		printf(", %zu nodes are one mail system, %llu origins", options->cluster,
		       (unsigned long long)origins_checked());
	judge_print();
	putchar('\n');
	return judge_count_all() == 0 && is_given(world) && left == 0 &&
	       sums.messages >= options->messages + world->burst / BURSTING * BURSTING &&
	       sums.lost == 0 && sums.changed == 0 && sums.unexcused == 0;
}

/* Domains of the nodes, and some that are the next hop's. */
static void tell_names(const struct world *world)
{
	for (size_t i = 0; i < world->node_count; i++) {
		const struct settings_node *node = settings_node(i);

		for (size_t k = 0; k < SETTINGS_ONCE + 2 && i < world->domain_count; k++)
			dns_add_mx(k == 0   ? node->domain
				   : k == 1 ? node->pipes
					    : node->once[k - 2],
				   10, node->host);
		dns_add_host(node->host, node->address);
	}
	dns_add_mx(PEOPLE_DOMAIN, 10, settings_node(0)->host);
	dns_add_mx(LISTS_DOMAIN, 10, settings_node(0)->host);
	dns_add_mx("hop.example", 10, "mx.hop.example");
	dns_add_mx("client.example", 10, "mx.hop.example");
	dns_add_mx("far.example", 10, "dead.hop.example");
	dns_add_mx("far.example", 20, "mx.hop.example");
	dns_add_host("mx.hop.example", HOP);
	dns_add_host("dead.hop.example", NOBODY);
	dns_add_host("host.example", HOP);
}

/* DOMAINS, and those of which each node files mail once, if they do so; each list ends with NULL.
 */
static void choose_domains(const struct world *world, bool files_once, const char *const *domains,
			   const char *chosen_out[DOMAINS_MAX])
{
	size_t count = 0;

	while (domains[count] != NULL)
		count++;
	memcpy(chosen_out, domains, count * sizeof *domains);
	for (size_t i = 0; files_once && i < world->domain_count * SETTINGS_ONCE; i++)
		chosen_out[count++] = settings_node(i / SETTINGS_ONCE)->once[i % SETTINGS_ONCE];
	chosen_out[count] = NULL;
}

/* Whose mail comes by QMTP and LMTP. */
static void start_others(struct world *world, bool files_once, uint64_t count, int64_t mean_us)
{
	static const char *const domains[RELAYING_MAX][7] = {
		{"hop.example", "far.example", "host.example", "one.example", "pipes.one.example"},
		{"hop.example", "far.example", "one.example", "pipes.one.example", "two.example",
		 "pipes.two.example"}};

	choose_domains(world, files_once, domains[world->domain_count - 1], world->other_domains);
	for (size_t i = 0; i < COURIERS; i++) {
		world->couriers[i] =
			(struct client){.address = world->entries[i % world->entry_count],
					.count = count,
					.pause_us = mean_us << kernel_below(3),
					.domains = world->other_domains};
		courier_start(world->outside, &world->couriers[i]);
		world->others[i] = world->couriers[i];
		world->others[i].is_lmtp = true;
		client_start(world->outside, &world->others[i]);
	}
	for (size_t i = 0; i < SUBMITTERS; i++) {
		world->submitters[i] = world->couriers[i % COURIERS];
		world->submitters[i].is_submitter = true;
		client_start(world->strangers, &world->submitters[i]);
	}
}

/* They are done after a small part of the time, each in a rhythm of its own. */
static void start_clients(struct world *world, const struct world_options *options)
{
	static const char *const domains[RELAYING_MAX][9] = {
		{"hop.example", "far.example", "host.example", "one.example", "pipes.one.example",
		 PEOPLE_DOMAIN},
		{"hop.example", "far.example", "host.example", "one.example", "pipes.one.example",
		 "two.example", "pipes.two.example", PEOPLE_DOMAIN}};
	const uint64_t others = options->messages / TO_COURIERS;
	const uint64_t left = options->messages - (2 * COURIERS + SUBMITTERS) * others;
	const uint64_t each = (left + CLIENTS - 1) / CLIENTS;
	const int64_t mean_us =
		1 + options->hours * HOUR / (options->is_idle ? 12 : 64) / (int64_t)(each + 1);

	choose_domains(world, options->files_once, domains[world->domain_count - 1],
		       world->domains);
	world->outside = machine_new("client", CLIENT);
	world->strangers = machine_new("submitter", SUBMITTER);
	for (size_t i = 0; i < CLIENTS; i++) {
		world->clients[i] = (struct client){
			.address = world->entries[i % world->entry_count],
			.count = each,
			.pause_us = mean_us << kernel_below(options->is_idle ? 3 : 5),
			.knows_lists = true,
			.is_great = i == 0 && !options->is_calm && kernel_one_in(2),
			.domains = world->domains};
		client_start(world->outside, &world->clients[i]);
	}
	start_others(world, options->files_once, others, mean_us * TO_COURIERS / 2);
}

/* While the others give, many clients at once give to one node what is for two destinations: one
 * where retries are due, too, and one that is always good, so that nothing interrupts its turns. */
static void burst(void *context)
{
	static const char *const domains[][2] = {{"hop.example"}, {"steady.example"}};
	struct world *world = context;

	world_log("world", "a burst of %llu messages", (unsigned long long)world->burst);
	for (size_t i = 0; i < world->bursting_count; i++) {
		world->bursting[i] = (struct client){.address = settings_node(0)->address,
						     .count = world->burst / world->bursting_count,
						     .pause_us = 1,
						     .is_single = true,
						     .domains = domains[i % 2]};
		client_start(world->outside, &world->bursting[i]);
	}
}

static void plan_burst(struct world *world, const struct world_options *options)
{
	if (options->burst < BURSTING)
		return;
	world->burst = options->burst;
	world->bursting_count = BURSTING;
	dns_add_mx("steady.example", 10, "mx.steady.example");
	dns_add_host("mx.steady.example", STEADY);
	hop_start(machine_new("steady", STEADY), &world->steady);
	kernel_at((int64_t)kernel_below((uint64_t)(options->hours * HOUR / 64)), burst, world);
}

static void set_places(struct machine *node, char settings[SETTINGS_SIZE], uint64_t places)
{
	const size_t length = strlen(settings);

	snprintf(settings + length, SETTINGS_SIZE - length, SETTINGS_PLACES "%llu }\n",
		 (unsigned long long)places);
	node_set(node, settings);
}

#define PEM_BEGIN "-----BEGIN CERTIFICATE-----\n"
#define PEM_END   "-----END CERTIFICATE-----\n"

static void certify(struct machine *machine, const char *name)
{
	char text[192];

	snprintf(text, sizeof text, PEM_BEGIN "certificate %s world\n" PEM_END, name);
	files_put(machine, "/etc/certificate", text);
	files_put(machine, "/etc/authority", PEM_BEGIN "authority world\n" PEM_END);
}

static void choose_nodes(struct world *world, const struct world_options *options)
{
	if (options->cluster > 0) {
		cluster_begin(options->cluster);
		world->node_count = options->cluster;
		world->domain_count = 1;
		world->entry_count = cluster_entry_count();
		for (size_t i = 0; i < world->entry_count; i++)
			world->entries[i] = cluster_entry(i);
		return;
	}
	world->node_count = options->nodes > 0 ? options->nodes : 1 + kernel_below(RELAYING_MAX);
	world->domain_count = world->entry_count = world->node_count;
	for (size_t i = 0; i < world->node_count; i++)
		world->entries[i] = settings_node(i)->address;
}

static void begin_partitions(struct world *world, const struct world_options *options,
			     int64_t calm_from_us)
{
	for (size_t i = 0; i < world->node_count; i++) {
		world->machines[i] = world->fates[i].node;
		origins_add(world->machines[i], settings_node(i)->host);
	}
	accounts_hand_over(true);
	ledger_file_apart(true);
	changes_are_late_by(PARTED_US);
	world->partition = (struct partition){.nodes = world->machines,
					      .count = world->node_count,
					      .calm_from_us = calm_from_us,
					      .strikes_left = &world->strikes_left,
					      .pause_us = options->hours * HOUR / 2 / PARTITIONS};
	partition_begin(&world->partition);
}

static void begin(struct world *world, const struct world_options *options)
{
	const int64_t calm_from_us = options->is_calm ? 0 : options->hours * HOUR / 2;

	world_begin(options->seed, options->log);
	ledger_begin();
	judge_begin();
	rot_begin(options->seed, options->rots);
	node_add_programs();
	taker_add_program();
	taker_be_odd(calm_from_us);
	decoders_be_odd(calm_from_us);
	settings_file_once(options->files_once);
	world->strikes_left = options->strikes;
	choose_nodes(world, options);
	tell_names(world);
	dns_be_odd(calm_from_us);
	world->hop.earnest_from_us = calm_from_us;
	world->hop.is_provider = options->has_providers;
	replies_begin();
	hop_start(machine_new("hop", HOP), &world->hop);
	start_clients(world, options);
	plan_burst(world, options);
	for (size_t i = 0; i < world->node_count; i++) {
		world->fates[i].calm_from_us = calm_from_us;
		world->fates[i].strikes_left = &world->strikes_left;
		world->fates[i].rarity = options->is_idle ? FATE_RARELY : FATE_OFTEN;
		world->fates[i].node = settings_new_node(i, world->settings[i]);
		if (options->places > 0)
			set_places(world->fates[i].node, world->settings[i], options->places);
		world->fates[i].settings = world->settings[i];
		states_begin(world->fates[i].node);
		accounts_watch(world->fates[i].node);
		certify(world->fates[i].node, settings_node(i)->host);
		files_put(world->fates[i].node, "/usr/bin/taker", "a program");
		people_add_node(world->fates[i].node);
		operator_start(world->fates[i].node, options->hours * HOUR / 2 / LOOKS,
			       options->hours * HOUR * 3 / 4);
		if (options->rots > 0)
			rot_add_node(world->fates[i].node, options->hours * HOUR / 2,
				     options->hours * HOUR / 2 / ROTS);
		fate_begin(&world->fates[i]);
	}
	if (options->cluster > 0) {
		begin_partitions(world, options, calm_from_us);
		cluster_start(world->fates[0].node, options->hours * HOUR / 2 / STATE_CHANGES,
			      options->hours * HOUR / 2);
	}
	lists_begin(world->domain_count);
	logins_begin();
	people_know_logins();
	people_add_accident(yesterday_act);
	if (options->cluster > 0)
		people_add_changer(cluster_change);
	people_start(options->hours * HOUR / 2 / CHANGES, options->hours * HOUR * 3 / 4);
	waiting_begin();
	world_stop_at(options->until);
}

/* From now on all are good. */
static void be_calm(struct world *world)
{
	const int64_t now_us = kernel_now_us();

	if (world->hop.earnest_from_us > now_us)
		world->hop.earnest_from_us = now_us;
	dns_be_odd(now_us);
	taker_be_odd(now_us);
	decoders_be_odd(now_us);
	for (size_t i = 0; i < world->node_count; i++)
		if (world->fates[i].calm_from_us > now_us)
			world->fates[i].calm_from_us = now_us;
}

/* The same messages for the same few recipients, and then none for a while. */
static void give_round(struct world *world)
{
	static const char *const domains[RELAYING_MAX][4] = {
		{"hop.example", "far.example", "one.example"},
		{"hop.example", "one.example", "two.example"}};

	for (size_t i = 0; i < world->entry_count; i++) {
		world->clients[i] = (struct client){.address = world->entries[i],
						    .count = GROWTH_MESSAGES,
						    .pause_us = SECOND / 2,
						    .users = 1,
						    .domains = domains[world->domain_count - 1]};
		client_start(world->outside, &world->clients[i]);
	}
	for (unsigned minutes = 0; minutes < 60 && !is_done(world); minutes++)
		world_run(kernel_now_us() + 60 * SECOND);
	world_run(kernel_now_us() + GROWTH_IDLE_US);
}

/* Those who come first find no descriptor left: they get in when there are some again. */
static void judge_growth(struct world *world)
{
	for (size_t i = 0; i < world->node_count; i++)
		trouble_let_nobody_in(world->fates[i].node, kernel_now_us() + LACK);
	give_round(world);
	for (size_t i = 0; i < world->node_count; i++)
		growth_note(world->fates[i].node);
	for (unsigned round = 0; round < 2; round++) {
		give_round(world);
		for (size_t i = 0; i < world->node_count; i++)
			growth_compare(world->fates[i].node);
	}
	for (size_t i = 0; i < world->node_count; i++)
		growth_look_at_end(world->fates[i].node);
	growth_end();
}

/* Nodes stop, and fate starts them again: what the cleaner of a start is to remove is gone. */
static void look_at_end(struct world *world)
{
	be_calm(world);
	cluster_be_quiet();
	people_be_quiet(); /* what they change is in caches, which is no growth */
	for (size_t i = 0; i < world->node_count; i++) {
		struct process *supervisor = node_supervisor(world->fates[i].node);

		world->fates[i].node->disk_fails_until_us = 0;
		if (supervisor != NULL)
			process_signal(supervisor, SIGTERM);
	}
	world_run(kernel_now_us() + 300 * SECOND);
	judge_growth(world);
	operator_look_at_end();
	states_look_at_end();
	accounts_look_at_end();
	for (size_t i = 0; i < world->node_count; i++) {
		mailboxes_read(world->fates[i].node, "/var/mail");
		mailboxes_check(world->fates[i].node);
		recorded_look_at_end(world->fates[i].node);
	}
	recorded_check_all();
}

static void end(struct world *world)
{
	for (size_t i = 0; i < world->node_count; i++)
		mailboxes_read(world->fates[i].node, "/var/mail");
}

static bool live(const struct world_options *options)
{
	const int64_t end_us = options->hours * HOUR;
	const int64_t last_us = end_us + (options->is_whole ? 0 : PATIENCE);
	struct world world = {0};
	uint64_t left;
	bool is_good;

	begin(&world, options);
	while (kernel_now_us() < last_us && !world_has_stopped() &&
	       (options->is_whole || !is_done(&world)))
		world_run(kernel_now_us() + 60 * SECOND);
	/* what else comes is too much, but for what a last fault has brought back */
	if (!world_has_stopped()) {
		be_calm(&world);
		world_run(kernel_now_us() + 600 * SECOND);
	}
	while (kernel_now_us() < last_us && !world_has_stopped() && left_in_queues(&world) > 0)
		world_run(kernel_now_us() + 60 * SECOND);
	left = left_in_queues(&world);
	for (size_t i = 0; i < world.node_count && left > 0; i++)
		left_tell(world.fates[i].node);
	if (left == 0 && !world_has_stopped())
		look_at_end(&world);
	end(&world);
	is_good = world_has_stopped() || judge(options, &world, left);
	mailboxes_end();
	world_end();
	links_end();
	states_end();
	accounts_end();
	recorded_end();
	trouble_end();
	rot_end();
	damages_end();
	dns_end();
	operator_end();
	people_end();
	lists_end();
	logins_end();
	ledger_end();
	return is_good;
}

int main(int argc, char **argv)
{
	struct world_options options = world_options_read(argc, argv);
	bool is_good = live(&options);

	if (options.log != NULL && options.log != stdout)
		fclose(options.log);
	return is_good ? 0 : 1;
}
