// SPDX-License-Identifier: ISC
#include "deliver/pipe/status.h"
#include "base/buffer.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

enum { NAME_MAX_BYTES = 64 }; /* of a trigger */

static const struct {
	int exit;
	const char *status;
} exits[] = {
	{EX_OK, "2.0.0"},
	{EX_USAGE, "5.3.0"},
	{EX_DATAERR, "5.6.0"},
	{EX_NOINPUT, "5.3.0"},
	{EX_NOUSER, "5.1.1"},
	{EX_NOHOST, "5.1.2"},
	{EX_UNAVAILABLE, "5.3.0"},
	{EX_SOFTWARE, "5.3.0"},
	{EX_OSERR, "4.3.0"},
	{EX_OSFILE, "4.3.5"},
	{EX_CANTCREAT, "5.2.0"},
	{EX_IOERR, "4.3.0"},
	{EX_TEMPFAIL, "4.3.0"},
	{EX_PROTOCOL, "5.5.0"},
	{EX_NOPERM, "5.7.0"},
	{EX_CONFIG, "4.3.5"},
	{100, "5.3.0"},
	{126, "4.3.5"},
	{127, "4.3.5"},
};

static const char *status_of_exit(int status)
{
	for (size_t i = 0; i < COUNT_OF(exits) && WIFEXITED(status); i++)
		if (exits[i].exit == WEXITSTATUS(status))
			return exits[i].status;
	return "4.3.0";
}

/* Appends OUTPUT as one line: white space between words becomes one space. */
static void append_output_line(struct buffer *line, struct str output)
{
	bool wants_space = false;

	for (size_t i = 0; i < output.length; i++) {
		bool is_space =
			output.data[i] == ' ' || (output.data[i] >= '\t' && output.data[i] <= '\r');

		if (!is_space && wants_space && line->length > 0)
			buffer_append_byte(line, ' ');
		if (!is_space)
			buffer_append_byte(line, output.data[i]);
		wants_space = is_space;
	}
}

/* Takes an enhanced status code of CLASS from the start of *LINE. */
static bool take_enhanced_status(struct str *line, char class, char status[MAIL_STATUS_SIZE])
{
	struct str rest = *line;
	struct str word;

	str_split(&rest, ' ', &word);
	if (word.length >= MAIL_STATUS_SIZE || !mail_status_is_valid(word) || word.data[0] != class)
		return false;
	memcpy(status, word.data, word.length);
	status[word.length] = '\0';
	*line = rest;
	return true;
}

static void format_end(int status, char *text, size_t size)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		snprintf(text, size, "was killed by a system call filter (signal %d)", SIGSYS);
	else if (WIFSIGNALED(status))
		snprintf(text, size, "was ended by signal %d", WTERMSIG(status));
	else
		snprintf(text, size, "ended with status %d", WEXITSTATUS(status));
}

void pipe_status_verdict(int status, struct str output, const char *path,
			 struct mail_verdict *verdict)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	const char *usual = status_of_exit(status);
	char own[MAIL_STATUS_SIZE];
	struct buffer line = {0};
	struct str said;
	char end[64];
	bool has_own;

	append_output_line(&line, output);
	said = buffer_view(&line);
	has_own = take_enhanced_status(&said, usual[0], own);
	format_end(status, end, sizeof end);
	mail_verdict_set(verdict, has_own ? own : usual, "%s %s%s" STR_FORMAT, name, end,
			 said.length > 0 ? ": " : "", STR_ARGUMENTS(said));
	buffer_clear(&line);
}

static bool is_trigger_name(struct str name)
{
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_' &&
		    c != '.')
			return false;
	}
	return name.length > 0 && name.length <= NAME_MAX_BYTES;
}

void pipe_status_trigger(const struct mail_verdict *verdict, struct str output, const char *service,
			 char trigger[PIPE_TRIGGER_SIZE])
{
	static const struct str start = STR("trigger=");
	char status[MAIL_STATUS_SIZE];
	struct buffer line CLEANUP(buffer_clear) = {0};
	struct str rest;
	struct str word;

	trigger[0] = '\0';
	append_output_line(&line, output);
	rest = buffer_view(&line);
	(void)take_enhanced_status(&rest, '4', status);
	str_split(&rest, ' ', &word);
	if (verdict->class != MAIL_WAIT || !str_starts_with(word, start))
		return;
	word = str_skip(word, start.length);
	if (is_trigger_name(word))
		snprintf(trigger, PIPE_TRIGGER_SIZE, "pipe.%s." STR_FORMAT, service,
			 STR_ARGUMENTS(word));
}
