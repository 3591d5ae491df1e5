// SPDX-License-Identifier: ISC
/* stagepost directory passwd */
#include "base/panic.h"
#include "command/directory/directory.h"
#include "directory/record/key.h"
#include "directory/record/password.h"
#include "directory/wire/frame.h"
#include "os/clock.h"
#include "os/stream/stream.h"
#include "os/stream/terminal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TYPED_MAX = 1000, FIELDS_MAX = DIRECTORY_PASSWORD_METHODS + 4 };

struct passwd_options {
	struct command_options common;
	const char *methods;
	bool create;
	bool remove;
};

#define PASSWD_OPTION(field) offsetof(struct passwd_options, field)

const struct command_option command_directory_passwd_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--method", "METHOD[,METHOD]",
	 "scram-sha-256, scram-sha-1 (both by default), yescrypt, bcrypt, argon2 where the system "
	 "has it. Without scram-sha-256 or scram-sha-1 clients that use these mechanisms are shut "
	 "out, which is said; with several the password is as safe as by the weakest of them",
	 PASSWD_OPTION(methods)},
	{"--create", NULL, "make the user, which must not exist yet", PASSWD_OPTION(create)},
	{"--remove", NULL, "leave no password, so that the user cannot log in",
	 PASSWD_OPTION(remove)},
	COMMAND_OPTION_END,
};

struct passwd_job {
	const struct command *command;
	const struct passwd_options *options;
	struct command_directory directory;
	struct buffer name; /* of the user, in canonical form */
	struct arena *arena;
	struct str fields[FIELDS_MAX]; /* "NAME VALUE", to be put */
	size_t field_count;
	struct directory_question question;
	bool exists;
	uint64_t version;      /* of the data when the user was read */
	size_t password_count; /* fields that come first */
	bool is_inactive;
	bool has_failed;
};

static int fail_passwd(const struct passwd_job *job, const char *why)
{
	fprintf(stderr, "stagepost %s: %s\n", job->command->name, why);
	return COMMAND_FAILED;
}

/* --- the password --- */

/* Reads the first line of standard input. */
static int read_input(struct buffer *out)
{
	ssize_t count;
	char byte;

	while ((count = os_stream_read(STDIN_FILENO, &byte, 1)) == 1 && byte != '\n') {
		if (out->length == TYPED_MAX)
			return -EMSGSIZE;
		buffer_append_byte(out, byte);
	}
	if (out->length > 0 && buffer_data(out)[out->length - 1] == '\r')
		buffer_truncate(out, out->length - 1);
	return count < 0 ? (int)count : 0;
}

static void wipe_secret(struct buffer *secret)
{
	if (secret->capacity > 0)
		explicit_bzero(secret->memory, secret->capacity);
	buffer_clear(secret);
}

static int ask_twice(struct buffer *out)
{
	struct buffer again CLEANUP(wipe_secret) = {0};
	int error = os_terminal_ask_secret("New password: ", TYPED_MAX, out);

	(void)buffer_reserve(&again, TYPED_MAX + 1);
	if (error == 0)
		error = os_terminal_ask_secret("Again: ", TYPED_MAX, &again);
	if (error == 0 && !str_equal(buffer_view(out), buffer_view(&again)))
		error = -EILSEQ;
	return error;
}

static const char *explain_password_error(int error)
{
	switch (error) {
	case -EINVAL:
		return "that is no password: it is empty, not UTF-8, or has characters that "
		       "RFC 4013 does not allow";
	case -EMSGSIZE:
		return "the password is too long for this method";
	case -ENOTSUP:
		return "this system's crypt(3) does not have that method";
	case -EILSEQ:
		return "they are not the same";
	case -EINTR:
		return "no password was given";
	default:
		return strerror(-error);
	}
}

static void add_password_field(struct passwd_job *job, const char *name, struct str value)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%s ", name);
	buffer_append_str(&text, value);
	job->fields[job->field_count++] = arena_copy_str(job->arena, buffer_view(&text));
}

/* Hashes SECRET by each of the methods, into the fields. */
static int hash_password_by_methods(struct passwd_job *job, struct str secret)
{
	struct str methods = str_from(job->options->methods);
	struct str name;

	while (str_split(&methods, ',', &name)) {
		struct buffer made CLEANUP(buffer_clear) = {0};
		int error;

		if (job->field_count == DIRECTORY_PASSWORD_METHODS)
			return -E2BIG;
		error = directory_password_hash(directory_password_method_find(name), secret,
						&made);
		if (error < 0)
			return error;
		add_password_field(job, "password", buffer_view(&made));
	}
	return 0;
}

static int take_password(struct passwd_job *job)
{
	struct buffer secret CLEANUP(wipe_secret) = {0};
	int error;

	(void)buffer_reserve(&secret, TYPED_MAX + 1); /* growing would leave a copy in memory */
	error = isatty(STDIN_FILENO) ? ask_twice(&secret) : read_input(&secret);
	if (error == 0)
		error = hash_password_by_methods(job, buffer_view(&secret));
	return error < 0 ? fail_passwd(job, explain_password_error(error)) : COMMAND_OK;
}

/* --- the user --- */

/* Keeps the user's other fields. */
static void keep_fields(struct passwd_job *job, const struct directory_answer_text *answer)
{
	job->field_count = job->password_count;
	job->is_inactive = false;
	for (size_t i = 0; i < answer->result_count && job->field_count < FIELDS_MAX; i++) {
		struct str name;
		struct str value;

		directory_frame_split_result(answer->results[i], &name, &value);
		job->is_inactive |=
			str_equal(name, STR("state")) && !str_equal(value, STR("active"));
		if (!str_equal(name, STR("password")))
			job->fields[job->field_count++] =
				arena_copy_str(job->arena, answer->results[i]);
	}
}

static void on_user_record(void *context, const struct directory_answer_text *answer)
{
	struct passwd_job *job = context;

	job->has_failed = bulk_server_has_failed(&job->directory.server, answer);
	job->exists = answer->exists;
	job->version = answer->version;
	if (!job->has_failed)
		keep_fields(job, answer);
	bulk_server_stop(&job->directory.server);
}

static void on_passwords_stored(void *context, const struct directory_answer_text *answer)
{
	struct passwd_job *job = context;

	job->has_failed = bulk_server_has_failed(&job->directory.server, answer);
	bulk_server_stop(&job->directory.server);
}

static int find_user_record(struct passwd_job *job)
{
	job->question = (struct directory_question){.answered = on_user_record, .context = job};
	directory_client_get(job->directory.server.client, directory_table_name(DIRECTORY_USER),
			     buffer_view(&job->name), DIRECTORY_PATIENCE_US, &job->question);
	bulk_server_wait(&job->directory.server, &job->question);
	if (job->has_failed)
		return command_directory_failed(job->command, &job->directory);
	if (!job->exists && !job->options->create)
		return fail_passwd(job, "there is no such user; --create makes one");
	if (job->exists && job->options->create)
		return fail_passwd(job, "the user exists already");
	return COMMAND_OK;
}

/* Reads the user, as others may have changed it since, and puts it; again, if they do meanwhile. */
static int change_user(struct passwd_job *job)
{
	int status = COMMAND_OK;

	for (unsigned i = 0; status == COMMAND_OK && i < COMMAND_DIRECTORY_ATTEMPTS; i++) {
		if (i > 0)
			os_clock_pause_ms(COMMAND_DIRECTORY_PAUSE_MS);
		status = find_user_record(job);
		if (status != COMMAND_OK)
			break;
		job->directory.server.error = DIRECTORY_ERROR_NONE;
		job->question = (struct directory_question){.answered = on_passwords_stored,
							    .context = job};
		directory_client_edit(job->directory.server.client,
				      directory_table_name(DIRECTORY_USER), buffer_view(&job->name),
				      job->version, job->fields, job->field_count, &job->question);
		bulk_server_wait(&job->directory.server, &job->question);
		if (job->directory.server.error != DIRECTORY_ERROR_CHANGED)
			break;
	}
	return status == COMMAND_OK && job->has_failed
		       ? command_directory_failed(job->command, &job->directory)
		       : status;
}

/* --- what the operator should know --- */

/* PLAIN and LOGIN work with every method; SCRAM needs its own keys. */
static void warn_of_methods(const struct passwd_job *job)
{
	static const struct {
		enum directory_password_method method;
		const char *mechanism;
	} needs[] = {{DIRECTORY_PASSWORD_SCRAM_SHA_256, "SCRAM-SHA-256"},
		     {DIRECTORY_PASSWORD_SCRAM_SHA_1, "SCRAM-SHA-1"}};

	for (size_t i = 0; i < COUNT_OF(needs); i++) {
		struct str rest = str_from(job->options->methods);
		struct str name;
		bool is_there = false;

		while (str_split(&rest, ',', &name))
			is_there |= directory_password_method_find(name) == needs[i].method;
		if (!is_there)
			fprintf(stderr,
				"stagepost %s: note: clients that use %s cannot log in as this "
				"user, and do not try PLAIN or LOGIN then; --method %s would let "
				"them\n",
				job->command->name, needs[i].mechanism,
				directory_password_method_name(needs[i].method));
	}
}

static void warn_of_user_state(const struct passwd_job *job)
{
	if (!job->options->remove)
		warn_of_methods(job);
	if (job->is_inactive)
		fprintf(stderr,
			"stagepost %s: note: the user is disabled (field state), and cannot log in "
			"until that is changed\n",
			job->command->name);
}

/* --- the command --- */

static const char *method_name(unsigned i)
{
	return directory_password_method_name((enum directory_password_method)i);
}

/* Methods that do not exist, or are not available on this system. */
static const char *check_methods(const char *methods)
{
	struct str rest = str_from(methods);
	struct str name;

	while (str_split(&rest, ',', &name)) {
		enum directory_password_method method = directory_password_method_find(name);

		if (method == DIRECTORY_PASSWORD_METHODS)
			return command_allowed("there is no such method", method_name,
					       DIRECTORY_PASSWORD_METHODS);
		if (!directory_password_is_available(method))
			return explain_password_error(-ENOTSUP);
	}
	return NULL;
}

static int run_passwd(struct passwd_job *job)
{
	int status = find_user_record(job); /* before anybody types a password */

	if (status == COMMAND_OK && !job->options->remove) {
		job->field_count = 0;
		status = take_password(job);
		job->password_count = job->field_count;
	}
	return status == COMMAND_OK ? change_user(job) : status;
}

int command_directory_passwd(const struct command *command, int argc, char **argv)
{
	struct passwd_options options = {.methods = "scram-sha-256,scram-sha-1"};
	struct passwd_job job = {.command = command, .options = &options};
	const char *problem;
	int status;

	if (!command_parse(command, argc, argv, &options.common, &status))
		return status;
	if (options.common.first + 1 != argc)
		return command_usage(command, "the NAME of one user is needed, and no password");
	problem = check_methods(options.methods);
	if (problem == NULL && options.create && options.remove)
		problem = "--create makes a user with a password";
	if (problem == NULL &&
	    directory_key_normalize(DIRECTORY_USER, str_from(argv[options.common.first]),
				    &job.name) < 0)
		problem = "no user can have that name";
	if (problem != NULL) {
		buffer_clear(&job.name); /* has what came before what is wrong */
		return command_usage(command, problem);
	}
	if (!command_directory_open(options.common.config_file, &job.directory)) {
		buffer_clear(&job.name);
		return COMMAND_FAILED;
	}
	job.arena = arena_new();
	status = run_passwd(&job);
	if (status == COMMAND_OK)
		warn_of_user_state(&job);
	arena_free(job.arena);
	buffer_clear(&job.name);
	command_directory_close(&job.directory);
	return status;
}
