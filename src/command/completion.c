// SPDX-License-Identifier: ISC
/* stagepost completion - commands and options for completion by a shell. */
#include "command/command.h"
#include <stdio.h>
#include <string.h>

/* In front of it stand the tables: "_stagepost_words COMMAND" prints what that command
 * knows, "_stagepost_values COMMAND OPTION" what its option takes. Words in capitals are
 * no words but say what is meant: ids and triggers come from the queue itself, and nodes
 * from the directory, which are asked each time. */
static const char bash[] =
	"_stagepost_triggers()\n"
	"{\n"
	"\tstagepost trigger list --json 2>/dev/null |\n"
	"\t\tsed -n 's/^{\"name\":\"\\([^\"]*\\)\".*/\\1/p'\n"
	"}\n"
	"_stagepost_ids()\n"
	"{\n"
	"\tstagepost queue list --json 2>/dev/null |\n"
	"\t\tsed -n 's/^{\"id\":\"\\([0-9a-f-]*\\)\".*/\\1/p'\n"
	"}\n"
	"_stagepost_nodes()\n"
	"{\n"
	"\tstagepost node list --json 2>/dev/null |\n"
	"\t\tsed -n 's/^{\"name\":\"\\([^\"]*\\)\".*/\\1/p'\n"
	"}\n"
	"_stagepost()\n"
	"{\n"
	"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal command=${COMP_WORDS[1]} words place\n"
	"\tcase $command in queue|trigger|directory|node)\n"
	"\t\t[ \"$COMP_CWORD\" = 2 ] || command=\"$command ${COMP_WORDS[2]}\" ;;\n"
	"\tesac\n"
	"\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	"\t\twords=$_stagepost_commands\n"
	"\telse\n"
	"\t\twords=$(_stagepost_values \"$command $before\")\n"
	"\t\t[ -n \"$words\" ] || words=$(_stagepost_words \"$command\")\n"
	"\tfi\n"
	"\twords=\" $words \"\n"
	"\tCOMPREPLY=()\n"
	"\tcase $words in *' FILE '*|*' LOGFILE '*|*' DIRECTORY '*)\n"
	"\t\tCOMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
	"\tesac\n"
	"\tcase $words in *' STAGE '*) words+='submit arrive remote ' ;; esac\n"
	"\tcase $words in *' ID '*) words+=\"$(_stagepost_ids) \" ;; esac\n"
	"\tcase $words in *' NAME '*) words+=\"$(_stagepost_triggers) \" ;; esac\n"
	"\tcase $words in *' NODE '*) words+=\"$(_stagepost_nodes) \" ;; esac\n"
	"\tfor place in $words; do\n"
	"\t\tcase $place in *[!A-Z]*) ;; *) words=${words/ $place / } ;; esac\n"
	"\tdone\n"
	"\tCOMPREPLY+=($(compgen -W \"$words\" -- \"$word\"))\n"
	"}\n"
	"complete -F _stagepost stagepost\n";

/* The arguments without brackets and dots, each with a space in front. */
static void print_operands(const char *text)
{
	struct str rest = str_from(text);
	struct str word;

	while (rest.length > 0) {
		(void)str_split(&rest, ' ', &word);
		word = str_skip(word, word.length > 0 && word.data[0] == '[');
		if (word.length > 0 && word.data[0] != '.')
			printf(" " STR_FORMAT, STR_ARGUMENTS(word));
	}
}

static void print_completion_words(const struct command *command)
{
	const struct command *sub = command->subcommands;

	printf("\t\"%s\") echo ' ", command->name);
	if (sub != NULL)
		for (; sub->name != NULL; sub++)
			printf("%s ", strchr(sub->name, ' ') + 1);
	else
		print_operands(command->arguments);
	for (const struct command_option *option = command->options;
	     option != NULL && option->name != NULL; option++)
		printf(" %s", option->name);
	puts(" --help ' ;;");
}

static void print_command_words(void)
{
	puts("_stagepost_words()\n{\n\tcase $1 in");
	for (const struct command *one = command_all(); one->name != NULL; one++) {
		print_completion_words(one);
		for (const struct command *sub = one->subcommands; sub != NULL && sub->name != NULL;
		     sub++)
			print_completion_words(sub);
	}
	puts("\tesac\n}");
}

static void print_values(const struct command *command)
{
	for (const struct command_option *option = command->options;
	     option != NULL && option->name != NULL; option++)
		if (option->argument != NULL)
			printf("\t\"%s %s\") echo '%s' | tr '|' ' ' ;;\n", command->name,
			       option->name, option->argument);
}

static void print_option_values(void)
{
	puts("_stagepost_values()\n{\n\tcase $1 in");
	for (const struct command *one = command_all(); one->name != NULL; one++) {
		print_values(one);
		for (const struct command *sub = one->subcommands; sub != NULL && sub->name != NULL;
		     sub++)
			print_values(sub);
	}
	puts("\tesac\n}");
}

int command_completion(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	int status;

	if (!command_parse(command, argc, argv, &options, &status))
		return status;
	if (options.first + 1 != argc || strcmp(argv[options.first], "bash") != 0)
		return command_usage(command, "only bash is known");
	fputs("_stagepost_commands=\"", stdout);
	for (const struct command *one = command_all(); one->name != NULL; one++)
		printf("%s%s", one == command_all() ? "" : " ", one->name);
	puts("\"");
	print_command_words();
	print_option_values();
	fputs(bash, stdout);
	return COMMAND_OK;
}
