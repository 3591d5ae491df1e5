// SPDX-License-Identifier: ISC
/* stagepost mailbox - one message for one recipient. */
#include "base/panic.h"
#include "command/mailbox/mailbox_command.h"
#include "deliver/mailbox/copies.h"
#include "deliver/mailbox/log.h"
#include "deliver/mailbox/open.h"
#include "filing/decode/apart.h"
#include "log/event.h"
#include "mail/localpart.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "queue/inject/message.h"
#include "queue/inject/reader.h"
#include "supervisor/start/log_settings.h"
#include "supervisor/start/program_directory.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { RETRY_MS = 50 }; /* for a lock that another one has */

struct file_task {
	struct config *config;
	const struct config_service *service;
	struct command_mailbox_options options;
	struct arena *arena;
	struct buffer text; /* the message */
	struct decode_identity identity;
	struct decode_message decoded;
	struct filing_message message;
	struct mailbox_copies copies;
	struct mailbox_rules_fields fields;
	struct str recipient;
	size_t own;
	size_t sent;
	bool has_log;
};

static int complain_about_task(int status, const char *format, const char *what)
{
	fputs("stagepost mailbox: ", stderr);
	fprintf(stderr, format, what);
	fputc('\n', stderr);
	return status;
}

/* TEXT begins with its status code (RFC 3463), and so does the output: Postfix's pipe(8) reads it
 * there. */
static int refuse_with_status_code(int status, const char *text)
{
	fprintf(stderr, "%s\n", text);
	return status;
}

/* --- what to file, and where --- */

/* "From SENDER DATE", by which mail systems begin a message for programs, is no header field. */
static struct str without_mbox_line(struct str text)
{
	ptrdiff_t end = str_find(text, '\n');

	return str_starts_with(text, STR("From ")) && end >= 0 ? str_skip(text, (size_t)end + 1)
							       : text;
}

static int read_message_to_file(struct file_task *task)
{
	struct inject_reader reader = {.descriptor = 0, .removes_nul = true};
	struct str text;
	int more;

	do
		more = inject_reader_next(&reader, &task->text);
	while (more > 0 && task->text.length <= task->config->maxsize);
	if (more < 0)
		return complain_about_task(INJECT_IO, "standard input: %s", strerror(-more));
	if (more > 0)
		return refuse_with_status_code(
			INJECT_UNAVAILABLE,
			"5.3.4 The message is larger than setting maxsize allows");
	text = without_mbox_line(buffer_view(&task->text));
	task->message.content =
		(struct ipc_content){.bytes = text, .file = -1, .size = text.length};
	return 0;
}

/* The environment is the mail system's, Delivered-To may be anybody's. */
static struct str recipient_of_task(const struct file_task *task)
{
	const char *named = task->options.recipient;

	if (named == NULL)
		named = os_process_environment("RECIPIENT");
	return named != NULL && *named != '\0' ? str_from(named) : task->identity.delivered_to;
}

static const struct config_service *only_service(const struct config *config)
{
	const struct config_service *found = NULL;

	for (size_t i = 0; i < config->service_count; i++) {
		if (!config_service_records(&config->services[i]))
			continue;
		if (found != NULL)
			return NULL;
		found = &config->services[i];
	}
	return found;
}

const struct config_service *mailbox_command_service(const struct config *config, const char *named,
						     struct str address)
{
	const struct config_domain *domain =
		config_domain_find(config, mail_parts_of(address).domain);

	if (named != NULL)
		return config_service_find(config, str_from(named));
	if (domain != NULL && config_service_records(domain->service))
		return domain->service;
	return only_service(config);
}

/* The sender's copy, of senders in the domains of this configuration that have the same service;
 * the directory is not asked. */
static void add_sent(struct file_task *task)
{
	struct str sender = mailbox_copies_sender(&task->copies);
	const struct config_domain *domain =
		config_domain_find(task->config, mail_parts_of(sender).domain);
	bool is_kept = sender.length > 0 && (task->service->sent == CONFIG_SENT_ALL ||
					     (domain != NULL && domain->service == task->service));

	task->sent = is_kept ? mailbox_copies_add_sent(&task->copies, sender) : MAILBOX_NO_COPY;
}

static int set_up_filing_task(struct file_task *task)
{
	struct str recipient = recipient_of_task(task);
	const char *sender = task->options.sender;

	if (recipient.length == 0)
		return complain_about_task(INJECT_USAGE, "%s", "for whom? Use -r");
	task->service = mailbox_command_service(task->config, task->options.service, recipient);
	if (task->service == NULL || !config_service_records(task->service))
		return task->options.service != NULL
			       ? complain_about_task(INJECT_CONFIG, MAILBOX_COMMAND_NO_SERVICE,
						     task->options.service)
			       : complain_about_task(INJECT_CONFIG,
						     "no service of kind mailbox or imap %s",
						     "is for this recipient; use -s");
	if (sender == NULL)
		sender = os_process_environment("SENDER");
	/* what Postfix calls the null sender in command lines and the environment */
	if (sender == NULL || strcasecmp(sender, "MAILER-DAEMON") == 0)
		sender = "";
	task->message.sender = str_from(sender);
	task->recipient = recipient;
	return 0;
}

static int decode_message_to_file(struct file_task *task)
{
	char program[OS_PROCESS_PATH_SIZE + sizeof "/decode"];
	int error = program_directory_find(program);

	if (error != 0)
		return complain_about_task(INJECT_SOFTWARE, "the program decode: %s",
					   strerror(-error));
	strcat(program, "/decode");
	decode_apart(program, &task->message.content, task->arena, &task->decoded);
	return 0;
}

/* Of quotas only the setting counts, as the directory is not asked. */
static int decide_copy_of_recipient(struct file_task *task)
{
	struct mail_quota quota;

	mailbox_copies_begin(&task->copies, &task->message, 1, task->config, task->service,
			     &task->fields, task->arena);
	task->own = mailbox_copies_add(&task->copies, task->recipient);
	if (task->own == MAILBOX_NO_COPY)
		return refuse_with_status_code(INJECT_BAD_DATA,
					       "5.1.3 No mailbox can have such a name");
	add_sent(task);
	if (mail_quota_parse(str_from(task->service->quota), &quota) == 0)
		for (size_t i = 0; i < task->message.copy_count; i++)
			mailbox_copies_limit(&task->copies, i, &quota);
	return 0;
}

/* --- filing --- */

/* Standard error belongs to who runs the command, and another mail system may send it to strangers:
 * what failed in detail is for the log, and for a person at a terminal. */
static void note_filing_event(void *context, const struct filing_event *event)
{
	const struct file_task *task = context;
	const struct mailbox_note told = mailbox_note_of(event);

	if (task->has_log)
		mailbox_note_log(&told);
	if (event->kind == FILING_FAILED && isatty(STDERR_FILENO))
		complain_about_task(0, "%s", event->text);
}

static int exit_status_of_task(const struct file_task *task)
{
	const struct mail_verdict *verdict = &task->message.copies[task->own].verdict;

	if (task->message.is_busy && !task->message.copies[task->own].is_settled)
		return refuse_with_status_code(
			INJECT_TRY_LATER, "4.4.5 Another delivery has the lock of its Message-ID");
	if (verdict->class == MAIL_OK)
		return INJECT_OK;
	fprintf(stderr, "%s %s\n", verdict->status, verdict->text);
	return verdict->class == MAIL_WAIT ? INJECT_TRY_LATER : INJECT_BAD_DATA;
}

/* Whether another attempt soon may do better: for the lock, or for what an attempt that was lost
 * leaves unknown. What is settled is not tried again. */
static bool must_wait_for_another_attempt(struct file_task *task)
{
	struct filing_message *message = &task->message;
	const struct filing_copy *own = &message->copies[task->own];
	bool must = false;

	if (message->is_busy)
		return true;
	for (size_t i = 0; i < message->copy_count; i++)
		message->copies[i].is_settled = message->copies[i].verdict.class != MAIL_WAIT;
	if (!own->is_settled) /* whoever runs the command tries all again */
		return own->is_early;
	for (size_t i = 0; i < message->copy_count; i++)
		must |= !message->copies[i].is_settled &&
			(message->copies[i].is_early || message->is_lost);
	return must;
}

/* The sender's copy is an attempt of its own: whoever runs the command is told of the recipient's.
 */
static void log_sent(const struct file_task *task)
{
	const struct filing_copy *sent =
		task->sent != MAILBOX_NO_COPY ? &task->message.copies[task->sent] : NULL;

	if (task->has_log && !task->message.is_busy && sent != NULL &&
	    sent->verdict.class != MAIL_OK &&
	    task->message.copies[task->own].verdict.class != MAIL_WAIT)
		log_event(EVENT_SENT_GIVEN_UP, log_str(message_id, task->identity.id),
			  log_str(mailbox, sent->mailbox.user),
			  log_str(folder, sent->mailbox.folder),
			  log_string(status, sent->verdict.status),
			  log_string(text, sent->verdict.text));
}

static int file_message_of_task(struct file_task *task)
{
	int64_t until_us =
		os_clock_monotonic_us() + task->config->record.lock_timeout * (int64_t)SECOND_US;
	struct mailstore *store;
	struct record *record;
	struct filing *filing;
	int error = mailbox_store_new(task->config, task->service, &store);

	if (error != 0)
		return complain_about_task(INJECT_TRY_LATER,
					   "4.3.0 the mailboxes cannot be reached: %s",
					   strerror(-error));
	record = mailbox_record_new(task->config);
	filing = filing_new(record, store, note_filing_event, task);
	filing_group(filing, &task->message, 1);
	while (must_wait_for_another_attempt(task) && os_clock_monotonic_us() < until_us) {
		os_clock_pause_ms(RETRY_MS);
		filing_group(filing, &task->message, 1);
	}
	log_sent(task);
	filing_free(filing);
	record_free(record);
	mailstore_free(store);
	return exit_status_of_task(task);
}

static int run_filing_task(struct file_task *task)
{
	int status = read_message_to_file(task);
	int error;

	if (status != 0)
		return status;
	mailbox_rules_fields(task->config, task->arena, &task->fields);
	error = decode_identify_fields(&task->message.content, task->arena, task->fields.fields,
				       task->fields.count, &task->identity);
	if (error != 0)
		return complain_about_task(INJECT_IO, "%s", strerror(-error));
	task->message.identity = &task->identity;
	task->message.decoded = &task->decoded;
	status = set_up_filing_task(task);
	if (status == 0)
		status = decode_message_to_file(task);
	if (status == 0)
		status = decide_copy_of_recipient(task);
	return status != 0 ? status : file_message_of_task(task);
}

/* The files belong to setting user: as anybody else nothing would come of it, or files that nobody
 * else can use. */
static int check_user_of_mailboxes(const struct config *config)
{
	struct os_process_user user;

	if (!mailbox_command_become_user(config))
		return INJECT_CONFIG;
	if (config->user[0] == '\0' || (os_process_user_find(config->user, &user) == 0 &&
					user.uid == os_process_effective_user()))
		return 0;
	return refuse_with_status_code(
		INJECT_TRY_LATER,
		"4.3.0 The command is not run by the user whose the mailboxes are; see "
		"stagepost-mailbox(8), OTHER MAIL SYSTEMS");
}

int mailbox_command_file(const struct command *command, int argc, char **argv)
{
	struct file_task task = {.arena = NULL};
	int status;

	if (!command_parse_plain(command, argc, argv, &task.options.common, &status))
		return status == COMMAND_USAGE ? INJECT_USAGE : status;
	task.config = mailbox_command_load(task.options.common.config_file);
	if (task.config == NULL)
		return INJECT_TRY_LATER; /* it is being edited */
	status = mailbox_command_use_backend(task.config) ? check_user_of_mailboxes(task.config)
							  : INJECT_CONFIG;
	if (status != 0) {
		config_free(task.config);
		return status;
	}
	os_process_private_mask();
	task.has_log = task.config->log_target == CONFIG_LOG_SYSLOG;
	if (task.has_log)
		log_settings_apply("mailbox", task.config);
	task.arena = arena_new();
	status = run_filing_task(&task);
	arena_free(task.arena);
	buffer_clear(&task.text);
	config_free(task.config);
	return status;
}
