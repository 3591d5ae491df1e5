// SPDX-License-Identifier: ISC
/* stagepost queue - shows and changes the queue by its directory. */
#include "command/queue/queue.h"
#include "command/queue/monitor.h"

#define ORDER_HELP                                                                 \
	"Messages are chosen by IDs, or by filters (all of which must pass), or\n" \
	"with --all. On a terminal the command asks before it begins.\n"

static const struct command_exit order_exits[] = {
	{COMMAND_OK, "all were done"},
	{COMMAND_FAILED, "some were refused, or none could be done; the reason is printed"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static const struct command_exit queue_repair_exits[] = {
	{COMMAND_OK, "every message has its true number"},
	{COMMAND_FAILED, "something is damaged or was moved to damaged/, or the repair has failed"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static const struct command_exit adopt_exits[] = {
	{COMMAND_OK, "all messages are here now"},
	{COMMAND_FAILED, "some stay there, or the command has failed: run it again"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static const struct command_exit stats_exits[] = {
	{COMMAND_OK, "all is printed; with limits, none is reached"},
	{COMMAND_FAILED,
	 "new mail is refused, or it has failed; with limits: one of --warn is reached"},
	{COMMAND_USAGE,
	 "the command line is wrong; with limits: a critical one, or nothing is taken or sent"},
	{QUEUE_MONITOR_UNKNOWN, "with limits: one is wrong, or the queue cannot be looked at"},
	{0, NULL},
};

const struct command command_queue_subcommands[] = {
	{"queue list", "", "Lists the messages in the queue.", "All filters given must pass.\n",
	 command_queue_list, command_queue_list_options, NULL, NULL},
	{"queue show", "ID", "Prints a message's control file and header, or its content.",
	 "ID is as the logs have it; its number alone, before the '-', will do.\n",
	 command_queue_show, command_queue_show_options, NULL, NULL},
	{"queue hold", "[ID ...]", "Holds messages back until they are released.",
	 "A delivery under way is not stopped. Works also while nothing runs.\n" ORDER_HELP,
	 command_queue_order, command_queue_hold_options, order_exits, NULL},
	{"queue release", "[ID ...]", "Ends holds.",
	 "Works also while nothing runs, but not with --damaged.\n" ORDER_HELP, command_queue_order,
	 command_queue_release_options, order_exits, NULL},
	{"queue retry", "[ID ...]", "Tries all deliveries now, whatever they wait for.",
	 "A message that its sender wants to be delivered later is tried only if its ID is "
	 "given.\n" ORDER_HELP,
	 command_queue_order, command_queue_order_options, order_exits, NULL},
	{"queue requeue", "[ID ...]", "Looks up again where undelivered mail goes, and tries it.",
	 "Each address in the directory, with its aliases and lists, and its route. Recipients\n"
	 "that have the message do not get it again. Holds stay.\n" ORDER_HELP,
	 command_queue_order, command_queue_order_options, order_exits, NULL},
	{"queue bounce", "[ID ...]",
	 "Gives up undelivered recipients, and reports them to the sender.", ORDER_HELP,
	 command_queue_order, command_queue_order_options, order_exits, NULL},
	{"queue remove", "[ID ...]", "Gives up undelivered recipients, without a bounce.",
	 ORDER_HELP, command_queue_order, command_queue_order_options, order_exits, NULL},
	{"queue drain", "",
	 "Takes in no mail from the network, and waits until the queue is empty.",
	 "For maintenance. Clients get 421 and try again later, or at the backup MX; a message "
	 "that\n"
	 "is being sent is taken. What waits is tried once more; what is held, or is to go later,\n"
	 "stays. Programs of this machine can queue mail all the time. May be interrupted and\n"
	 "repeated: mail is taken in again only after --end, also if Stagepost is started again;\n"
	 "a start of the machine is an end, too.\n",
	 command_queue_drain, command_queue_drain_options, command_queue_drain_exits, NULL},
	{"queue stats", "", "Counts messages and bytes in each place, or by destination or reason.",
	 "A message with recipients in several places is counted in each of them. A LIMIT for\n"
	 "monitoring is messages=N, oldest=AGE, deferred=N (messages tried in vain), paused=N\n"
	 "(destinations), damaged=N, set_aside=N (files), or free=SIZE, what is to be left of\n"
	 "the disk above queue_reserve.\n",
	 command_queue_stats, command_queue_stats_options, stats_exits, NULL},
	{"queue repair", "",
	 "Gives messages their true numbers after the queue was copied or restored.",
	 "The mail system must not run. What cannot be read, and names that belong to no\n"
	 "message, are moved to damaged/ in the queue directory. All data are read, and\n"
	 "what differs from its checksum is printed.\n"
	 "May be interrupted: run it again, until then the mail system does not start.\n"
	 "A backup does not know what was delivered since: of such a queue say --restored or "
	 "--hold.\n",
	 command_queue_repair, command_queue_repair_options, queue_repair_exits, NULL},
	{"queue adopt", "DIRECTORY", "Takes over the messages of another queue directory.",
	 "For the disk of a host that is dead. The mail system may run here, not there.\n"
	 "Each message becomes a new one with the recipients that are not done; successes that\n"
	 "were not reported there are reported from here. It is durable here before it is\n"
	 "removed there. May be interrupted: run it again. Only a message whose removal there\n"
	 "was not durable when it ended may come twice.\n",
	 command_queue_adopt, command_config_options, adopt_exits, NULL},
	{NULL},
};
