// SPDX-License-Identifier: ISC
/* stagepost directory put, set */
#include "command/directory/ask.h"
#include "os/clock.h"
#include <stdio.h>

const struct command_option command_directory_put_options[] = {
	COMMAND_OPTION_CONFIG,
	DIRECTORY_TABLE_OPTION(
		"TABLE", "its table: domain, address, member, user, server or node (address)"),
	{"--replace", NULL, "drop fields that the record has and that are not named",
	 offsetof(struct directory_table_options, replace)},
	COMMAND_OPTION_END,
};

/* Converts "NAME=VALUE" to "NAME VALUE" in place. */
static bool take_field_argument(char *argument, struct str *field_out)
{
	char *equals = strchr(argument, '=');

	if (equals == NULL || equals == argument)
		return false;
	*equals = ' ';
	*field_out = str_from(argument);
	return true;
}

bool directory_asking_parse_record(struct directory_asking *asking, int argc, char **argv,
				   struct directory_record_fields *record)
{
	const char *problem = NULL;
	int first;

	if (!directory_asking_parse(asking, argc, argv))
		return false;
	first = asking->options.common.first;
	asking->key = argv[first];
	if (first >= argc)
		problem = str_starts_with(str_from(asking->command->arguments), STR("NODE"))
				  ? "a NODE is required"
				  : "a KEY is required";
	for (int i = first + 1; i < argc && problem == NULL; i++) {
		if (record->count == DIRECTORY_FIELDS_MAX)
			problem = "a record has at most 1000 fields";
		else if (!take_field_argument(argv[i], &record->fields[record->count++]))
			problem = "a field is written NAME=VALUE";
	}
	if (problem != NULL)
		asking->status = command_usage(asking->command, problem);
	return problem == NULL;
}

static struct str name_of_record_field(struct str field)
{
	ptrdiff_t space = str_find(field, ' ');

	return space < 0 ? field : str_slice(field.data, (size_t)space);
}

static bool has_record_field(const struct directory_record_fields *record, struct str name)
{
	for (size_t i = 0; i < record->count; i++)
		if (str_equal(name_of_record_field(record->fields[i]), name))
			return true;
	return false;
}

struct record_reading {
	struct directory_asking *asking;
	struct directory_record_fields *record;
};

static void on_read(void *context, const struct directory_answer_text *answer)
{
	struct record_reading *reading = context;
	struct directory_record_fields *record = reading->record;

	record->version = answer->version;
	if (bulk_server_has_failed(&reading->asking->directory.server, answer))
		reading->asking->status = COMMAND_DIRECTORY_UNANSWERED;
	else if (answer->exists)
		for (size_t i = 0; i < answer->result_count && i < DIRECTORY_FIELDS_MAX; i++)
			record->fields[record->count++] =
				arena_copy_str(record->arena, answer->results[i]);
	bulk_server_stop(&reading->asking->directory.server);
}

/* What the directory has of the record now: nothing if there is none. */
static void read_record_to_change(struct directory_asking *asking,
				  struct directory_record_fields *record)
{
	struct record_reading reading = {asking, record};
	struct directory_question question = {.answered = on_read, .context = &reading};

	asking->status = COMMAND_OK;
	asking->directory.server.error = DIRECTORY_ERROR_NONE;
	arena_reset(record->arena);
	record->count = 0;
	directory_client_get(asking->directory.server.client, asking->options.table,
			     str_from(asking->key), DIRECTORY_PATIENCE_US, &question);
	bulk_server_wait(&asking->directory.server, &question);
}

/* Whether RECORD has all fields that are THERE; otherwise says which it lacks. */
static bool keeps_all(struct directory_asking *asking, const struct directory_record_fields *record,
		      const struct directory_record_fields *there)
{
	struct buffer lacking CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < there->count; i++) {
		struct str name = name_of_record_field(there->fields[i]);

		if (has_record_field(record, name) ||
		    (i > 0 && str_equal(name_of_record_field(there->fields[i - 1]), name)))
			continue;
		buffer_append_format(&lacking, "%s" STR_FORMAT, lacking.length > 0 ? ", " : "",
				     STR_ARGUMENTS(name));
	}
	if (lacking.length > 0) {
		fprintf(stderr,
			"stagepost %s: %s %s has other fields, which would be gone: " STR_FORMAT
			"; \"stagepost directory set\" changes single fields, --replace drops "
			"those. Nothing was changed.\n",
			asking->command->name, asking->options.table, asking->key,
			STR_ARGUMENTS(buffer_view(&lacking)));
		asking->status = COMMAND_FAILED;
	}
	return lacking.length == 0;
}

/* Warns of what the record names that does not exist, once it was put, and ends. */
static int end_put(struct directory_asking *asking, const struct directory_record_fields *record)
{
	if (asking->status == COMMAND_OK)
		asking->status = command_directory_warn(asking->command, &asking->directory,
							asking->options.table, asking->key,
							record->fields, record->count);
	return directory_asking_end(asking);
}

static int replace_record(struct directory_asking *asking,
			  const struct directory_record_fields *record)
{
	directory_client_put(asking->directory.server.client, asking->options.table,
			     str_from(asking->key), record->fields, record->count,
			     &asking->question);
	bulk_server_wait(&asking->directory.server, &asking->question);
	return end_put(asking, record);
}

/* Puts RECORD, which was made from the data of its version. False: the record was changed by others
 * meanwhile, and has to be read again. */
static bool edit_record(struct directory_asking *asking,
			const struct directory_record_fields *record)
{
	directory_client_edit(asking->directory.server.client, asking->options.table,
			      str_from(asking->key), record->version, record->fields, record->count,
			      &asking->question);
	bulk_server_wait(&asking->directory.server, &asking->question);
	return asking->directory.server.error != DIRECTORY_ERROR_CHANGED;
}

/* Makes what is to be put, OUT, of the record as it is THERE; false: nothing is to be put. */
typedef bool record_maker(struct directory_asking *asking,
			  const struct directory_record_fields *there,
			  const struct directory_record_fields *wanted,
			  struct directory_record_fields *out);

/* Reads the record and puts what MAKE makes of it: again, if others change it meanwhile, so that of
 * several changes at once none is lost. */
static int change_record(struct directory_asking *asking, record_maker *make,
			 const struct directory_record_fields *wanted)
{
	struct directory_record_fields there = {.arena = arena_new()};
	struct directory_record_fields made = {.count = 0};
	bool is_done = false;

	for (unsigned i = 0; !is_done && i < COMMAND_DIRECTORY_ATTEMPTS; i++) {
		if (i > 0)
			os_clock_pause_ms(COMMAND_DIRECTORY_PAUSE_MS);
		read_record_to_change(asking, &there);
		is_done = asking->status != COMMAND_OK || !make(asking, &there, wanted, &made);
		made.version = there.version;
		is_done = is_done || edit_record(asking, &made);
	}
	(void)end_put(asking, &made);
	arena_free(there.arena);
	return asking->status;
}

static bool make_whole(struct directory_asking *asking, const struct directory_record_fields *there,
		       const struct directory_record_fields *wanted,
		       struct directory_record_fields *out)
{
	*out = *wanted;
	return keeps_all(asking, wanted, there);
}

int command_directory_put(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = "address"};
	struct directory_record_fields record = {.count = 0};

	if (!directory_asking_parse_record(&asking, argc, argv, &record) ||
	    !directory_asking_begin(&asking, directory_asking_changed))
		return asking.status;
	return asking.options.replace ? replace_record(&asking, &record)
				      : change_record(&asking, make_whole, &record);
}

/* Those of THERE that are not in CHANGES, then what CHANGES gives a value. */
static bool merge_record_fields(const struct directory_record_fields *there,
				const struct directory_record_fields *changes,
				struct directory_record_fields *out)
{
	out->count = 0;
	for (size_t i = 0; i < there->count; i++)
		if (!has_record_field(changes, name_of_record_field(there->fields[i])))
			out->fields[out->count++] = there->fields[i];
	for (size_t i = 0; i < changes->count; i++) {
		if (name_of_record_field(changes->fields[i]).length + 1 ==
		    changes->fields[i].length)
			continue;
		if (out->count == DIRECTORY_FIELDS_MAX)
			return false;
		out->fields[out->count++] = changes->fields[i];
	}
	return true;
}

static bool make_merged(struct directory_asking *asking,
			const struct directory_record_fields *there,
			const struct directory_record_fields *wanted,
			struct directory_record_fields *out)
{
	if (!merge_record_fields(there, wanted, out))
		asking->status = command_usage(asking->command, "a record has at most 1000 fields");
	return asking->status == COMMAND_OK;
}

static bool make_changed(struct directory_asking *asking,
			 const struct directory_record_fields *there,
			 const struct directory_record_fields *wanted,
			 struct directory_record_fields *out)
{
	if (there->count > 0)
		return make_merged(asking, there, wanted, out);
	directory_asking_say_none(asking);
	asking->status = COMMAND_FAILED;
	return false;
}

int directory_asking_merge(struct directory_asking *asking,
			   const struct directory_record_fields *changes, bool may_make)
{
	return change_record(asking, may_make ? make_merged : make_changed, changes);
}

int command_directory_set(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = "address"};
	struct directory_record_fields changes = {.count = 0};

	if (!directory_asking_parse_record(&asking, argc, argv, &changes) ||
	    !directory_asking_begin(&asking, directory_asking_changed))
		return asking.status;
	return directory_asking_merge(&asking, &changes, false);
}
