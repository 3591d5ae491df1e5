// SPDX-License-Identifier: ISC
#include "supervisor/talk/good_config.h"
#include "os/process/process.h"
#include "supervisor/talk/run_file.h"
#include <errno.h>

enum { GOOD_CONFIG_MAX = 16 << 20 };

/* Follows the first line, "# FILE". */
static const char NOTE[] =
	"# The last good configuration in that file, without passwords: commands use it while the\n"
	"# file is wrong, or closed to their user. Do not change it: it is replaced.\n";

/* Appends FILE as it is called from every directory. */
static int append_whole_path(const char *file, struct buffer *out)
{
	char directory[OS_PROCESS_PATH_SIZE];
	int error = 0;

	if (*file != '/') {
		error = os_process_directory(directory);
		if (error == 0)
			buffer_append_format(out, "%s/", directory);
	}
	buffer_append_string(out, file);
	return error;
}

int good_config_write(const struct config *config, const char *file)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int error;

	buffer_append_string(&text, "# ");
	error = append_whole_path(file, &text);
	if (error < 0)
		return error;
	buffer_append_format(&text, "\n%s", NOTE);
	config_print_public(config, &text);
	return run_file_replace(config->run, GOOD_CONFIG_NAME, buffer_view(&text), true);
}

static int parse_good_config(const char *run, const char *file, struct str text,
			     struct config **config_out)
{
	struct buffer wanted CLEANUP(buffer_clear) = {0};
	struct buffer path CLEANUP(buffer_clear) = {0};
	struct config_problems problems = {0};
	struct str rest = text;
	struct str line;
	int error;

	buffer_append_string(&wanted, "# ");
	error = append_whole_path(file, &wanted);
	if (error < 0)
		return error;
	if (!str_split(&rest, '\n', &line) || !str_equal(line, buffer_view(&wanted)))
		return -ENOENT;
	buffer_append_format(&path, "%s/" GOOD_CONFIG_NAME, run);
	buffer_append_byte(&path, '\0');
	error = config_parse(buffer_data(&path), text, config_out, &problems);
	config_problems_clear(&problems);
	return error;
}

int good_config_read(const char *run, const char *file, struct config **config_out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	uid_t owner;
	int error = os_process_owner_of(run, &owner);

	if (error == 0)
		error = run_file_read(run, GOOD_CONFIG_NAME, owner, GOOD_CONFIG_MAX, &text);
	return error < 0 ? error : parse_good_config(run, file, buffer_view(&text), config_out);
}
