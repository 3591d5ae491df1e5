// SPDX-License-Identifier: ISC
#include "command/sendmail/mail.h"
#include "command/command.h"
#include "log/event.h"
#include "os/process/process.h"
#include "os/stream/terminal.h"
#include "supervisor/start/log_settings.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TIME_LIMIT_SECONDS = 24 * 60 * 60 };

static struct str explain_mail_refusal(int error, const struct buffer *reason)
{
	if (reason != NULL && reason->length > 0)
		return buffer_view(reason);
	if (error == -EILSEQ)
		return STR("a NUL is in the message (setting nul)");
	if (error == -EFBIG)
		return STR("the message is over the size limit");
	if (error == -ENOTCONN)
		return STR("the queue has closed the connection: it stops, or this user has too "
			   "many; try again");
	if (error == -EMFILE)
		return STR("too many messages are on their way into the queue; try again");
	return str_from(strerror(-error));
}

int command_mail_failed(const struct command_mail *mail, int error, const struct buffer *reason)
{
	fprintf(stderr, "%s: " STR_FORMAT "\n", mail->name,
		STR_ARGUMENTS(explain_mail_refusal(error, reason)));
	return mail->exit_status(error);
}

static bool open_log_of_mail_command(const char *name, const struct config *config)
{
	const char *space = strrchr(name, ' ');

	if (config->log_target != CONFIG_LOG_SYSLOG)
		return false;
	log_settings_apply(space != NULL ? space + 1 : name, config);
	return true;
}

int command_mail_refused(const struct command_mail *mail, const struct config *config,
			 const struct os_process_caller *caller, int error,
			 const struct buffer *reason)
{
	int status = command_mail_failed(mail, error, reason);

	if (open_log_of_mail_command(mail->name, config))
		log_event(EVENT_MESSAGE_REFUSED, log_number(uid, (int64_t)caller->id),
			  log_string(user, caller->name), log_number(exit_status, status),
			  log_str(text, explain_mail_refusal(error, reason)));
	return status;
}

void command_mail_accepted(const struct command_mail *mail, const struct config *config,
			   const struct os_process_caller *caller,
			   const struct mail_envelope *envelope)
{
	if (!open_log_of_mail_command(mail->name, config))
		return;
	log_event(EVENT_MESSAGE_ACCEPTED, log_id(envelope->id),
		  log_number(uid, (int64_t)caller->id), log_string(user, caller->name),
		  log_from(envelope->sender),
		  log_number(recipients, (int64_t)envelope->recipient_count),
		  log_number(size, (int64_t)envelope->size));
}

static int become_user_of_queue(const struct command_mail *mail, const struct config *config)
{
	struct os_process_user user = {0};
	int error = 0;

	if (os_process_is_root() && config->user[0] != '\0') {
		error = os_process_user_find(config->user, &user);
		if (error < 0) {
			fprintf(stderr, "%s: no user %s\n", mail->name, config->user);
			return mail->exit_status(-EPROTO);
		}
		error = os_process_become(&user);
	}
	return error < 0 ? command_mail_failed(mail, error, NULL) : INJECT_OK;
}

/* Whether this process may create the queue, or its files there: the daemons would never deliver
 * files that belong to another user. */
static bool is_owner(const struct config *config)
{
	int owns = os_process_owns(config->queue);
	struct os_process_user user;

	if (owns >= 0 || config->submit_group[0] == '\0')
		return owns != 0; /* if it does not exist, it will be created */
	return config->user[0] == '\0' || (os_process_user_find(config->user, &user) == 0 &&
					   user.uid == os_process_effective_user());
}

static int open_link_to_queue(const struct command_mail *mail, const struct config *config,
			      struct inject_link **link_out)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	int error;

	if (is_owner(config)) {
		error = os_process_drop_group();
	} else if (config->submit_group[0] == '\0') {
		fprintf(stderr,
			"%s: %s belongs to another user; for others to send mail, setting "
			"submit_group must name a group, and this program must be set-group-ID to "
			"it\n",
			mail->name, config->queue);
		return mail->exit_status(-EACCES);
	} else {
		error = inject_link_open(config, link_out, &reason);
	}
	return error < 0 ? command_mail_failed(mail, error, &reason) : INJECT_OK;
}

/* Whoever discards what a caller's programs print finds it in the system's log. */
static void log_config_fault(const struct command_mail *mail, struct str line)
{
	const char *space = strrchr(mail->name, ' ');

	log_configure(LOG_FORMAT_LOGFMT, LOG_TARGET_SYSLOG);
	log_open(space != NULL ? space + 1 : mail->name, LOG_INFO_LEVEL);
	log_event(EVENT_CONFIG_REFUSED, log_str(problem, line));
}

/* The last good configuration is as good for the caller, and cron or a program may take any output
 * for an error: only who sits before a terminal is told. That users may not read the file is meant
 * so. NULL: *STATUS_OUT is set. */
static struct config *load_config_in_force(const struct command_mail *mail, const char *file,
					   int *status_out)
{
	struct command_config_fault fault = {.is_closed = false};
	struct config *config = command_config_in_force(file, &fault);
	struct str rest = buffer_view(&fault.text);
	struct str line;

	(void)str_split(&rest, '\n', &line);
	if (config == NULL) {
		fprintf(stderr, STR_FORMAT "%s: the message is not queued\n",
			STR_ARGUMENTS(buffer_view(&fault.text)), mail->name);
		log_config_fault(mail, line);
		*status_out = mail->config_status;
	} else if (line.length > 0 && !fault.is_closed) {
		if (os_terminal_is(2))
			fprintf(stderr, STR_FORMAT "\n", STR_ARGUMENTS(line));
		log_config_fault(mail, line);
	}
	buffer_clear(&fault.text);
	return config;
}

struct config *command_mail_begin(const struct command_mail *mail, const char *file,
				  struct inject_link **link_out, int *status_out)
{
	struct config *config = load_config_in_force(mail, file, status_out);
	int status;

	*link_out = NULL;
	if (config == NULL)
		return NULL;
	os_process_own_mask();
	if (os_process_limit_time(TIME_LIMIT_SECONDS, mail->exit_status(-ETIMEDOUT)) < 0)
		status = mail->exit_status(-ENOSYS);
	else
		status = become_user_of_queue(mail, config);
	if (status == INJECT_OK)
		status = open_link_to_queue(mail, config, link_out);
	if (status == INJECT_OK)
		return config;
	config_free(config);
	*status_out = status;
	return NULL;
}

int command_mail_copy(struct inject_reader *reader, struct inject_message *message)
{
	struct buffer piece CLEANUP(buffer_clear) = {0};
	int more;

	do {
		int error;

		buffer_reset(&piece);
		more = inject_reader_next(reader, &piece);
		error = more < 0 ? more : inject_message_write(message, buffer_view(&piece));
		if (error < 0)
			return error;
	} while (more > 0);
	return 0;
}
