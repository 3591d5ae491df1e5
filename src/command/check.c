// SPDX-License-Identifier: ISC
/* stagepost check - checks the configuration, and with --running the running node. */
#include "command/rights/check.h"
#include "base/text/json.h"
#include "command/check_differs.h"
#include "command/command.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "supervisor/access.h"
#include "supervisor/machine_check/machine_check.h"
#include "supervisor/machine_check/unit.h"
#include "supervisor/talk/good_config.h"
#include "supervisor/talk/pid_file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Temporary states (a connection being made, a process about to enter its sandbox) do not appear in
 * all of these snapshots. */
enum { LOOKS = 4 };
enum { PAUSE_MS = 250 };

struct check_options {
	struct command_options common;
	bool running;
};

const struct command_option command_check_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--running", NULL, "compare the processes that run with what each may be and have",
	 offsetof(struct check_options, running)},
	COMMAND_OPTION_JSON("print JSON, an object a line"),
	COMMAND_OPTION_END,
};

const struct command_exit command_check_exits[] = {
	{COMMAND_OK, "nothing is wrong"},
	{COMMAND_FAILED, "something is wrong, or cannot be checked"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

/* --- the configuration --- */

static void print_object(const struct config_problem *problem, const char *severity)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	buffer_append_byte(&out, '{');
	json_field_text(&out, "severity", str_from(severity));
	json_field_text(&out, "file", str_from(problem->file));
	json_field_number(&out, "line", problem->line);
	json_field_text(&out, "setting", str_from(problem->setting));
	json_field_text(&out, "problem", str_from(problem->message));
	json_field_text(&out, "found", str_from(problem->found));
	json_field_text(&out, "allowed", str_from(problem->allowed));
	printf(STR_FORMAT "}\n", STR_ARGUMENTS(buffer_view(&out)));
}

static void print_machine_finding(void *context, const struct machine_finding *finding)
{
	const bool *is_json = context;
	struct buffer file CLEANUP(buffer_clear) = {0};

	if (!*is_json) {
		fprintf(stderr, "%s\n", finding->text);
		return;
	}
	buffer_append_str(&file, finding->file);
	buffer_append_byte(&file, '\0');
	print_object(&(struct config_problem){.file = buffer_data(&file),
					      .line = finding->line,
					      .setting = finding->setting,
					      .message = finding->problem,
					      .found = "",
					      .allowed = ""},
		     finding->severity == MACHINE_WARNING ? "warning" : "error");
}

static void print_objects(const struct config_problems *problems, const char *file)
{
	for (const struct config_problem *one = problems->first; one != NULL; one = one->next) {
		struct config_problem problem = *one;

		if (*problem.file == '\0')
			problem.file = file;
		print_object(&problem, "error");
	}
}

static int load_config_to_check(const char *file, bool is_json, struct buffer *text,
				struct config **config_out)
{
	return is_json ? command_config_load_with(file, text, config_out, print_objects)
		       : command_config_load(file, text, config_out);
}

/* --- the running node --- */

static int check_rights_of_node(pid_t pid, const struct rights_expected *expected,
				struct rights_findings *findings, size_t *unseen_out,
				size_t *count_out)
{
	struct node node;
	int error = node_look(pid, &node);

	if (error < 0)
		return error;
	rights_findings_init(findings);
	rights_check(&node, expected, findings);
	*unseen_out = 0;
	*count_out = node.count;
	for (size_t i = 0; i < node.count; i++)
		*unseen_out += node_is_hidden(&node.processes[i]);
	node_clear(&node);
	return 0;
}

static int look_often(pid_t pid, const struct rights_expected *expected,
		      struct rights_findings *findings, size_t *unseen_out, size_t *count_out)
{
	int error = check_rights_of_node(pid, expected, findings, unseen_out, count_out);

	for (unsigned i = 1; error == 0 && i < LOOKS && findings->count > 0; i++) {
		struct rights_findings again;

		os_clock_pause_ms(PAUSE_MS);
		error = check_rights_of_node(pid, expected, &again, unseen_out, count_out);
		if (error < 0) {
			rights_findings_clear(findings);
			return error;
		}
		rights_findings_keep(findings, &again);
		rights_findings_clear(&again);
	}
	return error;
}

static void print_rights_finding(const struct rights_finding *finding, bool is_json)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	if (is_json) {
		buffer_append_byte(&out, '{');
		json_field_text(&out, "process", str_from(finding->program));
		json_field_number(&out, "pid", (uint64_t)finding->pid);
		json_field_text(&out, "found", str_from(finding->found));
		json_field_text(&out, "allowed", str_from(finding->allowed));
		buffer_append_byte(&out, '}');
	} else {
		buffer_append_format(&out, "%s %ld: %s; allowed: %s", finding->program,
				     (long)finding->pid, finding->found, finding->allowed);
	}
	printf(STR_FORMAT "\n", STR_ARGUMENTS(buffer_view(&out)));
}

static int check_node(pid_t pid, const struct rights_expected *expected, bool is_json)
{
	struct rights_findings findings;
	size_t unseen = 0;
	size_t count = 0;
	int status;
	int error = look_often(pid, expected, &findings, &unseen, &count);

	if (error < 0) {
		fprintf(stderr, "stagepost check: process %ld cannot be looked into: %s\n",
			(long)pid, strerror(-error));
		return COMMAND_FAILED;
	}
	for (size_t i = 0; i < findings.count; i++)
		print_rights_finding(&findings.list[i], is_json);
	status = findings.count > 0 ? COMMAND_FAILED : COMMAND_OK;
	rights_findings_clear(&findings);
	if (unseen > 0)
		fprintf(stderr,
			"stagepost check: what %zu %s open cannot be seen: only root can check "
			"that\n",
			unseen, unseen == 1 ? "process has" : "processes have");
	if (status == COMMAND_OK && !is_json)
		printf("%zu processes: ok\n", count - unseen);
	return status;
}

/* The supervisor's pid and status; or 0, after an error message. */
static pid_t find_supervisor(const struct config *config, struct os_inspect_status *out)
{
	uid_t owner;
	pid_t pid = pid_file_read(config->run, &owner);

	if (pid > 0 && os_inspect_status(pid, out) < 0)
		pid = -ESRCH;
	if (pid == -ESRCH) {
		fprintf(stderr, "stagepost check: nothing runs with %s\n", config->run);
		return 0;
	}
	if (pid < 0) {
		fprintf(stderr, "stagepost check: %s/" PID_FILE_NAME ": %s\n", config->run,
			strerror(-pid));
		return 0;
	}
	if (out->users[1] == owner)
		return pid;
	fprintf(stderr,
		"stagepost check: %s/" PID_FILE_NAME " was made by user %lu and names process "
		"%ld, which is not one of that user\n",
		config->run, (unsigned long)owner, (long)pid);
	return 0;
}

/* Needs root's rights to inspect processes that may change their user. */
static int check_running_with(const struct config *config, bool is_json)
{
	static struct program_users users;
	struct rights_expected expected = {.config = config};
	struct os_inspect_status status = {0};
	pid_t pid = find_supervisor(config, &status);

	if (pid == 0)
		return COMMAND_FAILED;
	if (os_inspect_may_change_user(&status) && !os_process_is_root()) {
		fputs("stagepost check: processes of several users can be checked by root only\n",
		      stderr);
		return COMMAND_FAILED;
	}
	if (os_inspect_may_change_user(&status)) {
		if (program_users_find(&users, config, status.users[1], true) < 0)
			return COMMAND_FAILED;
		expected.users = &users;
	}
	return check_node(pid, &expected, is_json);
}

struct difference_output {
	const char *file;
	bool is_json;
};

static void print_difference(void *context, const struct config_problem *problem)
{
	const struct difference_output *output = context;
	struct config_problem printed = *problem;

	if (*printed.file == '\0')
		printed.file = output->file;
	if (output->is_json)
		print_object(&printed, "warning");
	else if (printed.line > 0)
		fprintf(stderr, "%s:%u: %s: %s\n", printed.file, printed.line, printed.setting,
			printed.message);
	else
		fprintf(stderr, "%s: %s: %s\n", printed.file, printed.setting, printed.message);
}

/* A node is judged by the configuration that it has, which may not be that of FILE, as parsed from
 * TEXT, yet; CONFIG is NULL if FILE is wrong. */
static int check_running(const char *file, const struct config *config, struct str text,
			 bool is_json)
{
	struct arena *arena = arena_new();
	const char *run = config != NULL ? config->run : config_guess_run(text, arena);
	struct difference_output output = {file, is_json};
	struct config *in_force = NULL;
	size_t count = 0;
	int error = good_config_read(run, file, &in_force);
	int status = COMMAND_FAILED;

	if (error == 0 && config != NULL)
		count = check_differs(config, text, in_force, print_difference, &output);
	if (count > 0 && !is_json)
		fprintf(stderr,
			"stagepost check: %s is not in force as it is: %zu %s; what runs is "
			"compared with what it was told, by the start or the last reload\n",
			file, count, count == 1 ? "difference" : "differences");
	if (error == 0 && (config == NULL || count > 0))
		status = check_running_with(in_force, is_json);
	else if (config != NULL) /* passwords, too */
		status = check_running_with(config, is_json);
	config_free(in_force);
	arena_free(arena);
	return status;
}

/* --- what its processes may open --- */

/* Only root can ask as others; who serves as himself is asked as himself. */
static int check_access(const struct config *config, struct str text, bool *is_json)
{
	struct machine_unit unit = {{0}};
	int error = machine_unit_read(config->file, COMMAND_CONFIG_FILE, &unit);
	int worst = -1;

	if (error < 0 && error != -ENOENT && !*is_json)
		fprintf(stderr,
			"stagepost check: systemctl show " MACHINE_UNIT ": %s: what that unit "
			"allows is not checked\n",
			strerror(-error));
	if (os_process_is_root() || *config->user == '\0')
		worst = supervisor_check_access(config, text, error == 0 ? &unit : NULL, true,
						print_machine_finding, is_json);
	machine_unit_clear(&unit);
	return worst;
}

int command_check(const struct command *command, int argc, char **argv)
{
	struct check_options options = {{NULL}, false};
	struct config *config;
	struct buffer text CLEANUP(buffer_clear) = {0};
	bool *is_json = &options.common.json;
	int status;
	int worst;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	if (load_config_to_check(options.common.config_file, *is_json, &text, &config) < 0) {
		if (options.running)
			(void)!check_running(options.common.config_file, NULL, buffer_view(&text),
					     *is_json);
		return COMMAND_FAILED;
	}
	/* the file is valid; does it fit this machine? */
	worst = machine_check(config, buffer_view(&text), true, print_machine_finding, is_json);
	if (worst < (int)MACHINE_FATAL) { /* all its users exist */
		int other = check_access(config, buffer_view(&text), is_json);

		worst = other > worst ? other : worst;
	}
	status = worst < (int)MACHINE_FAULT ? COMMAND_OK : COMMAND_FAILED;
	if (options.running &&
	    check_running(config->file, config, buffer_view(&text), *is_json) != COMMAND_OK)
		status = COMMAND_FAILED;
	if (status == COMMAND_OK && !options.running && !*is_json)
		printf("%s: ok\n", config->file);
	config_free(config);
	return status;
}
