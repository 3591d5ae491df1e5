// SPDX-License-Identifier: ISC
/* stagepost enqueue - queues one message, even while no daemon runs. */
#include "command/command.h"
#include "command/sendmail/mail.h"
#include "mail/envelope.h"
#include "os/process/process.h"
#include "queue/client/protocol.h"
#include "queue/inject/envelope.h"
#include "queue/trigger.h"
#include <stdio.h>
#include <string.h>

enum { MESSAGE_DESCRIPTOR = 0, ENVELOPE_DESCRIPTOR = 1 };

static const char ENQUEUE_NAME[] = "stagepost enqueue";
static const struct command_mail ENQUEUE_MAIL = {ENQUEUE_NAME, inject_queue_status,
						 INJECT_QUEUE_CONFIG};

/* First the message, then the envelope, as callers write them. */
static int receive_injected_mail(const struct config *config, struct inject_message *message,
				 struct mail_envelope *envelope, struct buffer *reason)
{
	const struct inject_envelope_settings settings = {QUEUE_ENVELOPE_MAX, config->maxrecipients,
							  str_from(config_users_domain(config))};
	struct inject_reader reader = {.descriptor = MESSAGE_DESCRIPTOR,
				       .removes_nul = config->nul == CONFIG_NUL_REMOVE};
	int error = command_mail_copy(&reader, message);

	if (error < 0)
		return error;
	error = inject_envelope_read(ENVELOPE_DESCRIPTOR, &settings, envelope, reason);
	if (error < 0 && reason->length == 0)
		buffer_append_format(reason,
				     "the envelope cannot be read from descriptor %d (1< FILE in a "
				     "shell): %s",
				     ENVELOPE_DESCRIPTOR, strerror(-error));
	return error;
}

static int enqueue_injected_mail(const struct config *config,
				 const struct os_process_caller *caller, struct inject_link *link,
				 enum mail_stage stage, const char *trigger)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct inject_message *message;
	struct mail_envelope *envelope;
	int error = inject_message_open(config, caller, link, &message, &reason);

	if (error < 0)
		return command_mail_refused(&ENQUEUE_MAIL, config, caller, error, &reason);
	envelope = mail_envelope_new();
	error = receive_injected_mail(config, message, envelope, &reason);
	envelope->trigger = str_from(trigger);
	if (error < 0)
		inject_message_abandon(message);
	else
		error = inject_message_commit(message, stage, envelope);
	if (error < 0)
		error = command_mail_refused(&ENQUEUE_MAIL, config, caller, error, &reason);
	else
		command_mail_accepted(&ENQUEUE_MAIL, config, caller, envelope);
	mail_envelope_free(envelope);
	return error;
}

struct enqueue_options {
	struct command_options common;
	const char *stage;
	const char *trigger;
};

const struct command_option command_enqueue_options[] = {
	COMMAND_OPTION_CONFIG,
	{"-s", "submit|arrive", "the stage where it begins (submit)",
	 offsetof(struct enqueue_options, stage)},
	{"--trigger", "NAME", "set this trigger; the message waits until it is released",
	 offsetof(struct enqueue_options, trigger)},
	COMMAND_OPTION_END,
};

/* Messages are held while their trigger is set, so not everybody may set one. */
static bool may_wait_for(const char *trigger)
{
	struct str name = str_from(trigger);
	unsigned long caller;

	if (name.length == 0)
		return true;
	if (!queue_trigger_name_is_valid(name) || queue_trigger_name_is_ours(name)) {
		fprintf(stderr, "%s: \"%s\" is no name of a trigger to wait for; allowed: %s\n",
			ENQUEUE_NAME, trigger, QUEUE_TRIGGER_NAMES_TO_WAIT_FOR);
		return false;
	}
	if (!os_process_is_privileged() || os_process_was_started_by_owner(&caller))
		return true;
	fprintf(stderr, "%s: only root and the queue's owner may let mail wait for a trigger\n",
		ENQUEUE_NAME);
	return false;
}

int command_enqueue(const struct command *command, int argc, char **argv)
{
	struct enqueue_options options = {.stage = "submit", .trigger = ""};
	struct os_process_caller caller;
	struct inject_link *link;
	struct config *config;
	enum mail_stage stage;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status == COMMAND_USAGE ? INJECT_QUEUE_BUG : status;
	if (!mail_stage_parse(str_from(options.stage), &stage)) {
		command_usage(command, "-s needs \"submit\" or \"arrive\"");
		return INJECT_QUEUE_BUG;
	}
	if (!may_wait_for(options.trigger))
		return INJECT_QUEUE_BUG;
	os_process_caller_find(&caller);
	config = command_mail_begin(&ENQUEUE_MAIL, options.common.config_file, &link, &status);
	if (config == NULL)
		return status;
	if (link != NULL && (stage != MAIL_STAGE_SUBMIT || *options.trigger != '\0')) {
		fprintf(stderr, "%s: only root and the queue's owner may use -s and --trigger\n",
			ENQUEUE_NAME);
		status = INJECT_QUEUE_FOLDER;
	} else {
		status = enqueue_injected_mail(config, &caller, link, stage, options.trigger);
	}
	inject_link_close(link);
	config_free(config);
	return status;
}
