// SPDX-License-Identifier: ISC
/* stagepost config, manual - prints and explains the configuration. */
#include "base/attributes.h"
#include "base/text/json.h"
#include "command/command.h"
#include <stdio.h>
#include <string.h>

enum { WIDTH = 78 };

struct config_options {
	struct command_options common;
	bool changed;
};

const struct command_option command_config_print_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--changed", NULL, "only what differs from the defaults, with its file and line",
	 offsetof(struct config_options, changed)},
	COMMAND_OPTION_JSON("of SETTING: print JSON"),
	COMMAND_OPTION_END,
};

static void print_config_text(const struct buffer *text)
{
	command_write(stdout, buffer_view(text));
}

/* --- one setting --- */

/* Appends TEXT as comment lines. */
static void append_comment(struct buffer *out, const char *text)
{
	struct str rest = str_from(text);
	struct str word;
	size_t column = 0;

	while (str_split(&rest, ' ', &word)) {
		if (column + 1 + word.length > WIDTH) {
			buffer_append_byte(out, '\n');
			column = 0;
		}
		if (column == 0)
			buffer_append_byte(out, '#');
		buffer_append_byte(out, ' ');
		buffer_append_str(out, word);
		column += 1 + word.length + (column == 0);
	}
	buffer_append_byte(out, '\n');
}

static void append_place_of_setting(const struct config_explanation *explanation, const char *file,
				    struct buffer *out)
{
	const struct config_position *position = &explanation->position;

	if (position->line == 0) {
		buffer_append_string(out, "# It is not set in any file.\n");
		return;
	}
	buffer_append_string(out, "# It is set in ");
	buffer_append_str(out, position->file.length > 0 ? position->file : str_from(file));
	buffer_append_format(out, ":%u.\n", position->line);
}

static void append_explanation(const struct config_explanation *explanation, const char *file,
			       struct buffer *out)
{
	struct str value = buffer_view(&explanation->value);

	if (value.length > 0)
		buffer_append_format(out, "%s = " STR_FORMAT "\n", explanation->name,
				     STR_ARGUMENTS(value));
	append_place_of_setting(explanation, file, out);
	if (explanation->initial == NULL)
		buffer_append_string(out, "# It has no default.\n");
	else
		buffer_append_format(out, "# Default: %s.\n",
				     *explanation->initial != '\0' ? explanation->initial
								   : "empty");
	buffer_append_format(out, "# Allowed: " STR_FORMAT ".\n",
			     STR_ARGUMENTS(buffer_view(&explanation->allowed)));
	buffer_append_format(out, "# Another value needs a %s.\n",
			     explanation->needs_restart ? "restart" : "reload");
	append_comment(out, explanation->meaning);
}

static void append_setting_json(const struct config_explanation *explanation, const char *file,
				struct buffer *out)
{
	const struct config_position *position = &explanation->position;

	buffer_append_byte(out, '{');
	json_field_text(out, "setting", str_from(explanation->name));
	json_field_text(out, "value", buffer_view(&explanation->value));
	if (position->line != 0) {
		json_field_text(out, "file",
				position->file.length > 0 ? position->file : str_from(file));
		json_field_number(out, "line", position->line);
	}
	if (explanation->initial != NULL)
		json_field_text(out, "default", str_from(explanation->initial));
	json_field_text(out, "allowed", buffer_view(&explanation->allowed));
	json_field_text(out, "change", explanation->needs_restart ? STR("restart") : STR("reload"));
	json_field_text(out, "meaning", str_from(explanation->meaning));
	buffer_append_string(out, "}\n");
}

static int explain_setting(const struct config_options *options, const struct config *config,
			   struct str text, const char *name)
{
	struct config_explanation explanation;
	struct buffer out CLEANUP(buffer_clear) = {0};
	int status = COMMAND_FAILED;

	if (!config_explain(config, text, name, &explanation, &out)) {
		fprintf(stderr, "stagepost config: " STR_FORMAT "\n",
			STR_ARGUMENTS(buffer_view(&out)));
	} else {
		if (options->common.json)
			append_setting_json(&explanation, options->common.config_file, &out);
		else
			append_explanation(&explanation, options->common.config_file, &out);
		print_config_text(&out);
		status = COMMAND_OK;
	}
	config_explanation_clear(&explanation);
	return status;
}

/* Joins the words "service", "box.path" to one name. */
static void join_setting_words(char **words, size_t count, struct buffer *out)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			buffer_append_byte(out, ' ');
		buffer_append_string(out, words[i]);
	}
	buffer_append_byte(out, '\0');
}

/* --- the whole configuration --- */

static void print_whole_config(const struct config_options *options, const struct config *config,
			       struct str text)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	if (options->changed)
		config_print_changed(config, options->common.config_file, text, &out);
	else
		config_print(config, &out);
	print_config_text(&out);
}

int command_config_print(const struct command *command, int argc, char **argv)
{
	struct config_options options = {{NULL}, false};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct config *config;
	int status;
	int first;

	if (!command_parse(command, argc, argv, &options.common, &status))
		return status;
	first = options.common.first;
	if (options.changed && first < argc)
		return command_usage(command, "--changed is for the whole configuration");
	if (options.common.json && first == argc)
		return command_usage(command, "--json is for one SETTING");
	if (command_config_load(options.common.config_file, &text, &config) < 0)
		return COMMAND_FAILED;
	status = COMMAND_OK;
	if (first < argc) {
		join_setting_words(argv + first, (size_t)(argc - first), &name);
		status = explain_setting(&options, config, buffer_view(&text), buffer_data(&name));
	} else {
		print_whole_config(&options, config, buffer_view(&text));
	}
	config_free(config);
	return status;
}

int command_manual(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct buffer text = {0};
	int status;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	config_print_manual(&text);
	print_config_text(&text);
	buffer_clear(&text);
	return COMMAND_OK;
}
