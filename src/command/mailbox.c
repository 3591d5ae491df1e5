// SPDX-License-Identifier: ISC
/* stagepost mailbox - files a message as a command; its subcommands look at the record. */
#include "command/mailbox.h"
#include "queue/inject/message.h"

const char command_mailbox_summary[] = "Records the message on standard input, and files it once.";
const char command_mailbox_help[] =
	"Into the mailbox of one recipient, as a service of kind mailbox or imap would; works\n"
	"also while no daemon runs, for other mail systems (Postfix's pipe and mailbox_command,\n"
	"a .forward, Exim's pipe transport). With COMMAND, looks at what is recorded.\n";

const struct command_option command_mailbox_options[] = {
	COMMAND_OPTION_CONFIG,
	{"-r", "RECIPIENT", "the address ($RECIPIENT, or the message's Delivered-To)",
	 offsetof(struct command_mailbox_options, recipient)},
	{"-f", "SENDER", "the sender of the envelope ($SENDER)",
	 offsetof(struct command_mailbox_options, sender)},
	{"-s", "SERVICE", "the service (that of the recipient's domain, or the only one)",
	 offsetof(struct command_mailbox_options, service)},
	COMMAND_OPTION_END,
};

const struct command_exit command_mailbox_exits[] = {
	{INJECT_OK, "the message is in the mailbox, now or before"},
	{INJECT_USAGE, "the command line is wrong, or it is not known for whom the message is"},
	{INJECT_BAD_DATA, "the recipient can have no mailbox, or the message can never be filed"},
	{INJECT_IO, "the message cannot be read"},
	{INJECT_TRY_LATER, "not now: the record, the store, the lock of its Message-ID, or "
			   "the configuration"},
	{INJECT_CONFIG, "the configuration has no such service, or its user does not exist"},
	{0, NULL},
};

static const struct command_option status_options[] = {
	COMMAND_OPTION_CONFIG,
	COMMAND_OPTION_JSON("print an object of JSON for each message, then one of the lock"),
	COMMAND_OPTION_END,
};

static const struct command_option list_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--from", "ADDRESS", "of this author, or of authors in this domain",
	 offsetof(struct command_mailbox_options, from)},
	{"--to", "ADDRESS", "to this address or domain (To, Cc, Bcc)",
	 offsetof(struct command_mailbox_options, to)},
	{"--subject", "TEXT", "with TEXT in the subject",
	 offsetof(struct command_mailbox_options, subject)},
	{"--since", "TIME", "recorded within this time: 12h, 5d",
	 offsetof(struct command_mailbox_options, since)},
	{"--limit", "NUMBER", "at most so many (default: all)",
	 offsetof(struct command_mailbox_options, limit)},
	COMMAND_OPTION_JSON("print an object of JSON for each message"),
	COMMAND_OPTION_END,
};

static const struct command_option repair_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--apply", NULL, "repair what differs; otherwise nothing is changed",
	 offsetof(struct command_mailbox_options, applies)},
	{"--forget-missing", NULL,
	 "forget copies that are missing: if their message comes again, it is filed again",
	 offsetof(struct command_mailbox_options, forgets)},
	{"--rebuild", NULL,
	 "if the record's file is damaged or gone, make a new one, and record what is there",
	 offsetof(struct command_mailbox_options, rebuilds)},
	{"-r", "ADDRESS", "only the mailbox of this address, also if the record does not have it",
	 offsetof(struct command_mailbox_options, recipient)},
	{"-s", "SERVICE", "the service (that of each address's domain, or the only one)",
	 offsetof(struct command_mailbox_options, service)},
	COMMAND_OPTION_JSON("print an object of JSON for each difference, then one of counts"),
	COMMAND_OPTION_END,
};

static const struct command_exit mailbox_repair_exits[] = {
	{COMMAND_OK, "there was no difference, or all were repaired"},
	{COMMAND_FAILED, "differences are left, or not everything could be compared"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

/* The whole command is run for them, too: it does not come to their functions. */
const struct command command_mailbox_subcommands[] = {
	{"mailbox status", "MESSAGE-ID",
	 "Shows what is recorded of a message, where it is filed, and who has its lock.",
	 "MESSAGE-ID includes its angle brackets. If several messages have it, all are shown.\n",
	 command_mailbox, status_options, NULL, NULL},
	{"mailbox list", "", "Lists the messages that are recorded.",
	 "The oldest first. A message must match all options that are given.\n", command_mailbox,
	 list_options, NULL, NULL},
	{"mailbox repair", "", "Compares the record with the mailboxes, after a restore of either.",
	 "The differences are named in stagepost-mailbox(8). Nothing is ever filed, and mail\n"
	 "that is being filed meanwhile is left alone.\n",
	 command_mailbox, repair_options, mailbox_repair_exits, NULL},
	{NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

int command_mailbox(const struct command *command, int argc, char **argv)
{
	(void)argc;
	command_become(command, COMMAND_MAILBOX_PROGRAM, argv);
	return INJECT_CONFIG;
}
