// SPDX-License-Identifier: ISC
/* stagepost directory - queries and changes the address directory. */
#include "command/directory/directory.h"

static const struct command_exit get_exits[] = {
	{COMMAND_OK, "the record exists; or the address is accepted"},
	{COMMAND_FAILED, "the record does not exist; or the address is refused, or deferred"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED,
	 "the directory does not answer, or does not take that; or the configuration is wrong"},
	{0, NULL},
};

static const struct command_exit change_exits[] = {
	{COMMAND_OK, "the change is durable"},
	{COMMAND_FAILED, "there was no such record"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED,
	 "no answer (the change may be made yet), or not taken; or a wrong configuration"},
	{0, NULL},
};

static const struct command_exit put_exits[] = {
	{COMMAND_OK, "the change is durable"},
	{COMMAND_FAILED, "the record has other fields, which would be gone"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED,
	 "no answer (the change may be made yet), or not taken; or a wrong configuration"},
	{0, NULL},
};

static const struct command_exit accept_exits[] = {
	{COMMAND_OK, "from now on they are what is expected"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED,
	 "the directory does not answer, or its data are not guarded; or the configuration is "
	 "wrong"},
	{0, NULL},
};

static const struct command_exit check_exits[] = {
	{COMMAND_OK, "no record is malformed, and all that they name exists"},
	{COMMAND_FAILED, "some are, or some of it is not; or the configuration is wrong"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED, "the directory does not answer"},
	{0, NULL},
};

static const struct command_exit directory_repair_exits[] = {
	{COMMAND_OK, "nothing is damaged, or all of it was repaired and nothing is lost"},
	{COMMAND_FAILED,
	 "something is damaged or lost, or the file cannot be looked at or repaired"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static const struct command_exit list_exits[] = {
	{COMMAND_OK, "all is printed"},
	{COMMAND_FAILED,
	 "some records are malformed, which are named; or the configuration is wrong"},
	{COMMAND_USAGE, "the command line is wrong"},
	{COMMAND_DIRECTORY_UNANSWERED, "the directory does not answer"},
	{0, NULL},
};

/* Without a server it waits for one. */
static const struct command_exit watch_exits[] = {
	{COMMAND_OK, "it was interrupted"},
	{COMMAND_FAILED, "the configuration is wrong"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static const struct command_exit import_exits[] = {
	{COMMAND_OK, "all records are in the directory as the file says"},
	{COMMAND_FAILED, "some differ and were left as they are, lines are wrong, or the import "
			 "has failed: run it again"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static const struct command_exit export_exits[] = {
	{COMMAND_OK, "all records were written"},
	{COMMAND_FAILED, "some are malformed or have no place in this format, and were named; or "
			 "the export failed"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

const struct command command_directory_subcommands[] = {
	{"directory get", "KEY", "Tells what becomes of an address, or shows a record.",
	 "Without --table KEY is an address, and each way that its mail goes is a line.\n",
	 command_directory_get, command_directory_get_options, get_exits, NULL},
	{"directory put", "KEY [FIELD ...]", "Makes or replaces a record.",
	 "A FIELD is written NAME=VALUE: kind=forward target=ann@example.org. The record\n"
	 "has these fields and no others afterwards. If it has others before, they are named\n"
	 "and nothing is changed, unless --replace agrees to that. stagepost-directory(7)\n"
	 "names the fields. What it names and does not exist yet is reported on standard\n"
	 "error; the record is made. With --table member KEY is one word of two addresses:\n"
	 "\"LIST MEMBER\".\n",
	 command_directory_put, command_directory_put_options, put_exits, NULL},
	{"directory set", "KEY FIELD ...", "Changes single fields of a record.",
	 "A FIELD is written as for \"directory put\"; NAME= without a value removes it. The\n"
	 "other fields stay, also those that others change at the same time.\n",
	 command_directory_set, command_directory_change_options, change_exits, NULL},
	{"directory del", "KEY", "Removes a record.",
	 "With --table member KEY is one word of two addresses: \"LIST MEMBER\".\n",
	 command_directory_del, command_directory_change_options, change_exits, NULL},
	{"directory list", "[PREFIX]", "Lists the records whose keys begin with PREFIX.", "",
	 command_directory_list, command_directory_list_options, list_exits, NULL},
	{"directory check", "", "Finds records that name what does not exist.",
	 "Services, users, servers, domains and addresses of our domains; and loops. A line has\n"
	 "the table, the key and what is wrong. \"directory put\" warns of the same.\n",
	 command_directory_check, command_directory_check_options, check_exits, NULL},
	{"directory accept", "", "Accepts the data that the directory has now.",
	 "For data that were replaced, recreated or emptied on purpose: until then a node that "
	 "saw\n"
	 "others there defers all mail (451) and takes no change. The log says why (store_held).\n",
	 command_directory_accept, command_directory_accept_options, accept_exits, NULL},
	{"directory repair", "", "Finds what is damaged in the SQLite file, and repairs it.",
	 "Each record that the disk has changed or lost is a line, with its table and key. The\n"
	 "new file has all others, and the damaged one is kept beside it: what is lost has to be\n"
	 "put in again. It may run while the node does; changes wait meanwhile.\n",
	 command_directory_repair, command_directory_repair_options, directory_repair_exits, NULL},
	{"directory watch", "", "Prints each change as it is made, until it is interrupted.",
	 "A line has the version, the table and the key. While the directory does not answer, it\n"
	 "says so on standard error, and waits.\n",
	 command_directory_watch, command_json_options, watch_exits, NULL},
	{"directory stats", "", "Tells whether the data can be read, their version, and counts.",
	 "", command_directory_stats, command_directory_stats_options, list_exits, NULL},
	{"directory status", "", "Tells what keeps the data, and whether it is reached.",
	 "The state (up, down, or held, and then why and what ends that); the role (server,\n"
	 "or relay of others); the backend; its servers (upstream)\n"
	 "in the order in which they are tried, and the one that is followed; for how long the\n"
	 "link to them is lost (lost_seconds), and how old the data may be (fresh_seconds);\n"
	 "identity and version.\n",
	 command_directory_status, command_json_options, list_exits, NULL},
	{"directory import", "FILE", "Puts the records of a file into the directory.",
	 "FILE \"-\" is standard input. All of it is checked first: when lines are wrong that is\n"
	 "said, line by line, and nothing is changed. A record that is there already stays as\n"
	 "it is, and is named with the fields that differ, unless --update or --replace is\n"
	 "given. Each record is durable as a whole, all of them are no one change: an import\n"
	 "that was broken off is finished by running it again.\n",
	 command_directory_import, command_directory_import_options, import_exits, NULL},
	{"directory export", "", "Prints the records of the directory.",
	 "In the order of tables and keys, as \"directory import\" reads them. What a format\n"
	 "has no place for is named on standard error. Passwords are printed for those only\n"
	 "who may see them: keep the output safe.\n",
	 command_directory_export, command_directory_export_options, export_exits, NULL},
	{"directory passwd", "NAME", "Sets the password of a user.",
	 "It is asked for twice at the terminal; without one, it is the first line of standard\n"
	 "input. Passwords that the user had before are no longer valid.\n",
	 command_directory_passwd, command_directory_passwd_options, NULL, NULL},
	{NULL},
};
