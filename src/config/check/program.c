// SPDX-License-Identifier: ISC
/*
 * Checks the programs of pipe services, and the users to run them as. A program may be anything,
 * and may belong to somebody else: it must not have the rights of a process of ours, nor be able to
 * stop or trace one. Names are compared here; whether two names are the same user is checked when a
 * program is started (deliver/owner.h).
 */
#include "config/internal.h"
#include <stdio.h>
#include <string.h>

#define PROGRAM_ALLOWED "a user that no process of Stagepost runs as, or %u"

/* The program must not depend on the message. */
static void check_command(const struct config_service *service,
			  const struct config_tree_section *section,
			  struct config_problems *problems)
{
	const struct config_tree_use *use = config_tree_use(section, "command");

	if (service->command_count == 0 || use->first == NULL ||
	    (service->command[0][0] == '/' && strchr(service->command[0], '%') == NULL))
		return;
	config_problem_add(problems, use->first->line,
			   config_problem_name(problems, section->kind, section->title, "command"),
			   use->first->text, "not the path of a program",
			   "an absolute path without % as the first");
}

/* The process that runs as user NAME: "queue" and "send", or another; NULL: none. */
static const char *process_of(const struct config *config, const char *name)
{
	if (strcmp(config->user, name) == 0)
		return "the queue's processes";
	for (size_t i = 0; i < CONFIG_PROCESSES; i++)
		if (strcmp(config->processes[i].user, name) == 0)
			return config->processes[i].name;
	return NULL;
}

static void check_program_user(const struct config *config, const struct config_service *service,
			       const struct config_tree_section *section,
			       struct config_problems *problems)
{
	const struct config_tree_use *use = config_tree_use(section, "user");
	const char *setting = config_problem_name(problems, section->kind, section->title, "user");
	bool is_given = service->user != NULL && *service->user != '\0';
	const char *name = is_given ? service->user : config_process_user(config, "pipe");
	const char *process = *name != '\0' ? process_of(config, name) : NULL;
	bool is_refused = !is_given && use->first != NULL && use->first->text.length > 0;
	char message[160];

	if (process == NULL || is_refused)
		return;
	snprintf(message, sizeof message,
		 is_given ? "the program would have the rights of %s"
			  : "must be set: the program would have the rights of %s",
		 process);
	config_problem_add(problems, is_given ? use->line : section->line, setting,
			   str_from(is_given ? name : ""), message, PROGRAM_ALLOWED);
}

void config_check_program(const struct config *config, const struct config_service *service,
			  const struct config_tree_section *section,
			  struct config_problems *problems)
{
	check_command(service, section, problems);
	if (config->user != NULL)
		check_program_user(config, service, section, problems);
}
