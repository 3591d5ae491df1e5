// SPDX-License-Identifier: ISC
/* stagepost completion - the commands, for a shell to complete. */
#include "program/command.h"
#include <stdio.h>
#include <string.h>

/* Ids come from the queue itself, which is asked each time. */
static const char bash[] =
	"_stagepost()\n"
	"{\n"
	"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal words= ids=\n"
	"\tlocal filters=\"--sender --recipient --domain --stage --older --trigger --host\"\n"
	"\tcase $before in hold|release|retry|bounce|remove|show|trace)\n"
	"\t\tids=$(stagepost queue list --json 2>/dev/null |\n"
	"\t\t\tsed -n 's/^{\"id\":\"\\([0-9a-f-]*\\)\".*/\\1/p') ;;\n"
	"\tesac\n"
	"\tcase $before in\n"
	"\t-c) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
	"\t--stage) words=\"submit arrive remote\" ;;\n"
	"\t-s) words=\"submit arrive\" ;;\n"
	"\tqueue) words=\"list show hold release retry bounce remove stats repair adopt\" ;;\n"
	"\ttrigger) words=\"list wait release\" ;;\n"
	"\t--trigger|wait) words=$(stagepost trigger list --json 2>/dev/null |\n"
	"\t\tsed -n 's/^{\"name\":\"\\([^\"]*\\)\".*/\\1/p') ;;\n"
	"\trelease) if [ \"${COMP_WORDS[1]}\" = trigger ]; then\n"
	"\t\twords=$(stagepost trigger list --json 2>/dev/null |\n"
	"\t\t\tsed -n 's/^{\"name\":\"\\([^\"]*\\)\".*/\\1/p')\n"
	"\t\telse words=\"--all $filters $ids\"; fi ;;\n"
	"\thold|retry|bounce|remove) words=\"--all $filters $ids\" ;;\n"
	"\t--by) words=\"destination reason\" ;;\n"
	"\tstats) words=\"--by --json\" ;;\n"
	"\tcompletion) words=bash ;;\n"
	"\tshow|trace) words=$ids ;;\n"
	"\tlist|mailq) words=\"$filters --json\" ;;\n"
	"\tesac\n"
	"\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	"\t\twords=\"$_stagepost_commands\"\n"
	"\telif [ -z \"$words\" ]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"--help -c --json\" -f -- \"$word\"))\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	"}\n"
	"complete -F _stagepost stagepost\n";

int command_completion(const struct command *command, int argc, char **argv)
{
	struct command_options options;
	int status;

	if (!command_parse(command, argc, argv, false, &options, &status))
		return status;
	if (options.first + 1 != argc || strcmp(argv[options.first], "bash") != 0)
		return command_usage(command, "only bash is known");
	fputs("_stagepost_commands=\"", stdout);
	for (const struct command *one = commands; one->name != NULL; one++)
		printf("%s%s", one == commands ? "" : " ", one->name);
	puts("\"");
	fputs(bash, stdout);
	return COMMAND_OK;
}
