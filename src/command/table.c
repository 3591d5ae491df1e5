// SPDX-License-Identifier: ISC
/* The table of commands, from which --help, the manual and completion derive. */
#include "command/directory/directory.h"
#include "command/mailbox.h"
#include "command/nodes/nodes.h"
#include "command/queue/queue.h"
#include "command/sendmail/options.h"
#include "queue/inject/message.h"
#include <stdio.h>
#include <string.h>

/* sysexits(3) */
static const struct command_exit mail_exits[] = {
	{INJECT_OK, "the message is durably queued"},
	{INJECT_USAGE, "the command line is wrong"},
	{INJECT_BAD_DATA, "the message or its envelope is malformed, or has a CR without LF"},
	{INJECT_UNAVAILABLE, "it is over a limit: size, number of recipients"},
	{INJECT_SOFTWARE, "the system refuses what must not fail"},
	{INJECT_NO_CREATE, "the queue does not exist and cannot be made"},
	{INJECT_IO, "the disk or the input has failed"},
	{INJECT_TRY_LATER,
	 "not now: no node, no configuration, no room, too many open files, 24 hours are over"},
	{INJECT_NO_PERMISSION, "this user may not write into the queue"},
	{INJECT_CONFIG, "the queue is wrong, or its user does not exist"},
	{0, NULL},
};

/* qmail-queue(8) */
static const struct command_exit enqueue_exits[] = {
	{INJECT_OK, "the message is durably queued"},
	{INJECT_QUEUE_ADDRESS, "never: an address is too long"},
	{INJECT_QUEUE_REFUSED, "never: what is no address, a NUL, or over a limit"},
	{INJECT_QUEUE_MEMORY, "no memory"},
	{INJECT_QUEUE_TIME, "24 hours have passed"},
	{INJECT_QUEUE_WRITE, "the disk is full, read-only, or has failed"},
	{INJECT_QUEUE_READ, "the message or the envelope cannot be read"},
	{INJECT_QUEUE_CONFIG, "the configuration or the queue is wrong"},
	{INJECT_QUEUE_FOLDER, "this user may not write into the queue, or it cannot be made"},
	{INJECT_QUEUE_LATER, "not now: the node does not take it, or too many files are open"},
	{INJECT_QUEUE_BUG, "the command line is wrong, or the system refuses what must not fail"},
	{INJECT_QUEUE_ENVELOPE, "the envelope is malformed"},
	{0, NULL},
};

static const struct command_exit newaliases_exits[] = {
	{INJECT_OK, "all aliases are in the directory, or there is none"},
	{INJECT_USAGE, "the command line is wrong"},
	{INJECT_BAD_DATA, "lines are wrong, or addresses were made by others; the rest is done"},
	{INJECT_NO_INPUT, "a file cannot be read; nothing was changed"},
	{INJECT_IO, "the directory has failed"},
	{INJECT_TRY_LATER, "the directory does not answer"},
	{INJECT_NO_PERMISSION, "this user may not change the directory"},
	{INJECT_CONFIG, "the configuration is wrong"},
	{0, NULL},
};

static const struct command_exit trace_exits[] = {
	{COMMAND_OK, "the logs, or nodes, tell of it"},
	{COMMAND_FAILED, "they do not, or one could not be read or asked"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static const struct command_option no_options[] = {COMMAND_OPTION_END};

static int run_version(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	int status;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	puts("stagepost " VERSION);
	return COMMAND_OK;
}

static const struct command_exit serve_exits[] = {
	{COMMAND_OK, "it was stopped"},
	{COMMAND_FAILED, "it cannot begin now; why is in the log"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_NEVER, "it cannot begin before the configuration or the machine is changed"},
	{0, NULL},
};

const struct command commands[] = {
	{"serve", "", "Runs the mail system until SIGTERM or SIGINT.",
	 "SIGHUP reads the configuration again; when it is wrong the old one stays in force.\n"
	 "Logs go where the configuration says: to standard error or to syslog.\n",
	 command_serve, command_serve_options, serve_exits, NULL},
	{"reload", "", "Makes the running mail system read its configuration again.",
	 "It waits for the outcome: errors are printed, and the old one stays in force. What it\n"
	 "names and this machine does not have, such as a program, is printed, too, but does not\n"
	 "keep a new one from coming into force.\n",
	 command_reload, command_config_options, NULL, NULL},
	{"upgrade", "", "Replaces the running mail system by the installed version.",
	 "No connection is refused meanwhile. If the installed version cannot begin, or is not\n"
	 "ready within the setting upgrade_timeout, the running one goes on, and the reason is\n"
	 "printed. It is the same for an older version. What the version that runs could not read\n"
	 "afterwards is said before anything is changed.\n",
	 command_upgrade, command_upgrade_options, command_upgrade_exits, NULL},
	{"stop", "", "Stops the running mail system, and waits until it has ended.", "",
	 command_stop, command_config_options, NULL, NULL},
	{"check", "", "Checks a configuration, or the node that runs with it: says what is wrong.",
	 "With --running each process of the node is compared with the table of what it may be\n"
	 "and have: users, groups, capabilities, sandbox, and each descriptor that it has open.\n"
	 "A line is printed for each thing that is not in it.\n",
	 command_check, command_check_options, command_check_exits, NULL},
	{"config", "[SETTING]",
	 "Prints the configuration, defaults included, or explains a setting.",
	 "SETTING is written as in messages: maxsize, service box.path.\n", command_config_print,
	 command_config_print_options, NULL, NULL},
	{"manual", "", "Prints the reference of stagepost.conf as mdoc source.", "", command_manual,
	 no_options, NULL, NULL},
	{"enqueue", "", "Queues the message on standard input, with the envelope on descriptor 1.",
	 "The envelope is F<sender>\\0, T<recipient>\\0 for each recipient,\n"
	 "and one more \\0. Lines end with LF or CRLF. Works also while no daemon runs.\n",
	 command_enqueue, command_enqueue_options, enqueue_exits, NULL},
	{"queue", "[ARGUMENT ...]", "Shows and changes what is in the queue.", "", command_run_sub,
	 NULL, NULL, command_queue_subcommands},
	{"trigger", "[ARGUMENT ...]", "Shows and changes what messages wait for.", "",
	 command_run_sub, NULL, NULL, command_trigger_subcommands},
	{"directory", "[ARGUMENT ...]", "Asks and changes the address directory.", "",
	 command_run_sub, NULL, NULL, command_directory_subcommands},
	{"node", "[ARGUMENT ...]", "Shows and changes the nodes that hand mail over to each other.",
	 "", command_run_sub, NULL, NULL, command_node_subcommands},
	{"nodes", "[NODE ...]",
	 "Shows all nodes in one picture: how each is, and in what they differ.",
	 "Each node is asked over the connections by which mail is handed over. It says what is "
	 "in\n"
	 "its queue and what that waits for, how much mail came and went in the last minute, and\n"
	 "which versions of Stagepost, of the configuration and of the directory's data it has. "
	 "One\n"
	 "that does not answer within two seconds is shown with the reason.\n",
	 command_nodes, command_nodes_options, command_nodes_exits, NULL},
	{"mailbox", "", command_mailbox_summary, command_mailbox_help, command_mailbox,
	 command_mailbox_options, command_mailbox_exits, command_mailbox_subcommands},
	{"trace", "ID [[NODE=]LOGFILE ...]",
	 "Follows a message, or a client's session, through the logs.",
	 "ID is as in the logs. Of a message, its number alone, before the '-', means all "
	 "messages\n"
	 "that had it; what became of its bounce is printed as well, and of the new messages that\n"
	 "a list has made of it. Of a session (session=), it is all that the client did, and what\n"
	 "became of its messages. Without a LOGFILE, and for \"-\", standard input is read.\n"
	 "The logs of several nodes tell one story, by the id that the message has at any of "
	 "them.\n"
	 "Whose line it is says the NODE before a LOGFILE, or what a log collector has written.\n"
	 "With --nodes each node says what its queue has of the message, and what it has logged\n"
	 "of it lately, and no LOGFILE is needed.\n",
	 command_trace, command_trace_options, trace_exits, NULL},
	{"transcript", "", "Prints what is said in sessions, as it is said.",
	 "Of SMTP and LMTP, in and out, also of sessions that began before. Nothing has to be\n"
	 "reloaded, nothing of it is in the log, and it ends by itself. Credentials are not "
	 "shown,\n"
	 "nor the content of messages. A domain is that of the recipients, of the peer's name,\n"
	 "or of a client's greeting. A session must match all options that are given.\n",
	 command_transcript, command_transcript_options, command_transcript_exits, NULL},
	{"limits", "", "Shows how many sessions each class of hosts has, and its limits.",
	 "They are those of all processes together, in and out, at this moment.\n", command_limits,
	 command_limits_options, command_limits_exits, NULL},
	{"tls", "DOMAIN", "Tests how mail for a domain is protected, with each of its hosts.",
	 "For each host it says which policy applies and who set it, connects, begins TLS as a\n"
	 "delivery would, and shows what was negotiated, the certificates, and what would become\n"
	 "of mail. No mail is sent. HOST:PORT in place of DOMAIN is that host alone.\n",
	 command_tls, command_tls_options, command_tls_exits, NULL},
	{"tls-report", "", "Shows what is counted for reports about TLS (TLSRPT).",
	 "A line for each domain and day (UTC): how many connections met the policy, and how many\n"
	 "did not.\n",
	 command_tls_report, command_tls_report_options, command_tls_report_exits, NULL},
	{"newaliases", "", "Reads the files of aliases into the address directory.",
	 "The files are those of setting aliases in section directory, by default /etc/aliases,\n"
	 "in the format of sendmail's aliases(5). Their addresses are marked as made by\n"
	 "\"aliases\": what an earlier newaliases made and the files no longer have is removed, "
	 "and\n"
	 "nothing else. An address that was made by other means stays, and is named, as is a\n"
	 "line that is wrong; the others are read. Does nothing where there is no directory.\n",
	 command_newaliases, command_newaliases_options, newaliases_exits, NULL},
	{"mailq", "", "Lists the queue: the same as queue list.", "", command_queue_list,
	 command_queue_list_options, NULL, NULL},
	{"sendmail", "[RECIPIENT ...]",
	 "Queues the message on standard input, as the command of that name does.",
	 "Date, From and Message-ID are added where they lack, addresses without a domain get\n"
	 "default_domain or else hostname, Bcc is removed. An address may be in UTF-8: its domain\n"
	 "becomes A-labels (xn--), and only a local part makes the message need hosts that\n"
	 "support SMTPUTF8. Letters may be combined (-ti)\n"
	 "and followed by their argument (-fSENDER); options end at the first recipient.\n\n"
	 "Files in the queue must belong to the mail system's user. For other users to\n"
	 "send mail, install a copy of this program that is called sendmail, belongs to\n"
	 "that user and has the set-user-ID bit: it then does nothing but this, enqueue\n"
	 "and mailq, which lists only what its caller has queued, and reads no other\n"
	 "configuration than the usual one.\n",
	 command_sendmail, sendmail_options_rows, mail_exits, NULL},
	{"completion", "bash", "Prints what makes bash complete these commands.",
	 "For instance: stagepost completion bash > /etc/bash_completion.d/stagepost\n",
	 command_completion, no_options, NULL, NULL},
	{"version", "", "Prints the version.", "", run_version, no_options, NULL, NULL},
	{NULL},
};

const struct command *command_find(struct str name)
{
	for (const struct command *one = commands; one->name != NULL; one++) {
		const struct command *sub = one->subcommands;

		if (str_equal(name, str_from(one->name)))
			return one;
		for (; sub != NULL && sub->name != NULL; sub++)
			if (str_equal(name, str_from(sub->name)))
				return sub;
	}
	return NULL;
}
