// SPDX-License-Identifier: ISC
/* sendmail - the command by which users' programs send mail. */
#include "base/text/utf8.h"
#include "command/command.h"
#include "command/directory/directory.h"
#include "command/sendmail/bad.h"
#include "command/sendmail/mail.h"
#include "command/sendmail/options.h"
#include "command/sendmail/session.h"
#include "header/addresses.h"
#include "mail/address.h"
#include "mail/text/text.h"
#include "os/process/process.h"
#include "queue/inject/address.h"
#include "queue/inject/header.h"
#include "queue/inject/recipients.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ADDRESS_FLAGS = MAIL_ADDRESS_UTF8 | MAIL_ADDRESS_ROOT };

static const char SENDMAIL_NAME[] = "sendmail";
static const struct command_mail SENDMAIL_MAIL = {SENDMAIL_NAME, inject_exit_status,
						  INJECT_TRY_LATER};

/* One message. */
struct sending {
	const struct config *config;
	const char *domain; /* for addresses without one */
	const struct sendmail_options *options;
	const struct os_process_caller *caller;
	struct inject_link *link;
	struct str author; /* LOCAL@DOMAIN, of the user or by -f */
	struct mail_envelope *envelope;
	struct inject_reader reader;
	struct inject_header header;
	struct inject_recipients *recipients;
	struct sendmail_bad bad;
	struct buffer completed; /* the header as it is queued */
	struct buffer reason;
};

static int copy_address(void *context, struct str address)
{
	struct sending *sending = context;

	if (sending->author.length > 0 ||
	    inject_address_set_sender(sending->envelope, address, STR("")) < 0)
		return -EBADMSG;
	sending->author = sending->envelope->sender;
	return 0;
}

static void set_author_from_user(struct sending *sending)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct mail_address parsed;

	buffer_append_format(&text, "%s@%s", sending->caller->name, sending->domain);
	if (mail_address_parse(buffer_view(&text), 0, &parsed) < 0) {
		buffer_reset(&text);
		buffer_append_format(&text, "uid%lu@%s", sending->caller->id, sending->domain);
	}
	sending->author = arena_copy_str(sending->envelope->arena, buffer_view(&text));
}

/* Whether ARGUMENT has no line ends, which some programs let strangers write into it, and no other
 * control characters. */
static bool is_one_line(struct str argument)
{
	while (argument.length > 0) {
		uint32_t point = utf8_code_point(argument);
		size_t length = utf8_length(argument);

		if (point != '\t' && !utf8_is_harmless(point))
			return false;
		argument = str_skip(argument, length > 0 ? length : 1);
	}
	return true;
}

static int set_sender(struct sending *sending)
{
	const char *sender = sending->options->sender;
	struct str user;

	set_author_from_user(sending);
	sending->envelope->sender = sending->author;
	if (sender == NULL)
		return 0;
	user = sending->author;
	sending->author = STR("");
	if (!is_one_line(str_from(sender)) ||
	    header_addresses_parse(str_from(sender), str_from(sending->domain), ADDRESS_FLAGS, NULL,
				   copy_address, sending) < 0) {
		buffer_append_string(&sending->reason, "not an address of a sender: ");
		mail_text_append(&sending->reason, str_from(sender), MAIL_TEXT_ASCII);
		return -EBADMSG;
	}
	sending->envelope->sender = sending->author;
	if (sending->author.length == 0)
		sending->author = user;
	return 0;
}

/* Whoever meant words before a separator as an address must know that they are not. */
static int take_header_recipient(void *context, struct str place,
				 const struct header_element *element)
{
	struct sending *sending = context;
	struct buffer name CLEANUP(buffer_clear) = {0};
	int error;

	switch (element->kind) {
	case HEADER_ELEMENT_ADDRESS:
		error = inject_recipients_add(sending->recipients, element->address);
		if (error != -EBADMSG)
			return error;
		sendmail_bad_add(&sending->bad, sending->envelope->arena, place, element->address);
		break;
	case HEADER_ELEMENT_NAME:
		if (element->address.length > 0)
			break;
		mail_text_append(&name, element->text, MAIL_TEXT_ASCII);
		fprintf(stderr,
			"%s: taken for a part of a name, in " STR_FORMAT ": " STR_FORMAT "\n",
			SENDMAIL_NAME, STR_ARGUMENTS(place), STR_ARGUMENTS(buffer_view(&name)));
		break;
	case HEADER_ELEMENT_REST:
		break;
	case HEADER_ELEMENT_BAD:
		sendmail_bad_add(&sending->bad, sending->envelope->arena, place, element->text);
		break;
	}
	return 0;
}

static const struct str command_line = STR("the command line");

static int take_argument(void *context, const struct header_element *element)
{
	return take_header_recipient(context, command_line, element);
}

static int add_arguments(struct sending *sending, const struct header_addresses_rules *rules,
			 char **argv)
{
	int error = 0;

	for (int i = sending->options->first; error == 0 && argv[i] != NULL; i++) {
		struct str argument = str_from(argv[i]);

		if (is_one_line(argument))
			error = header_addresses_read(argument, rules, take_argument, sending, NULL,
						      NULL);
		else
			sendmail_bad_add(&sending->bad, sending->envelope->arena, command_line,
					 argument);
	}
	return error;
}

static int set_recipients(struct sending *sending, char **argv)
{
	const struct header_addresses_rules rules = {str_from(sending->domain), ADDRESS_FLAGS};
	int error;

	sending->recipients = inject_recipients_new(
		sending->envelope, sending->config->maxrecipients, sending->options->notify);
	error = add_arguments(sending, &rules, argv);
	if (error == 0 && sending->options->from_header)
		error = inject_header_recipients(&sending->header, &rules, take_header_recipient,
						 sending);
	inject_recipients_free(sending->recipients);
	if (error == -E2BIG)
		buffer_append_format(&sending->reason, "more than %u recipients",
				     (unsigned)sending->config->maxrecipients);
	if (error < 0 || sending->envelope->recipient_count > 0)
		return error;
	sendmail_bad_explain(&sending->bad, &sending->reason);
	if (sending->bad.count > 0)
		return -EBADMSG;
	buffer_append_string(&sending->reason, "the message has no recipients");
	return -EDESTADDRREQ;
}

static int read_header_to_send(struct sending *sending)
{
	int error = inject_header_read(&sending->reader, &sending->header);

	if (error == -EFBIG)
		buffer_append_string(&sending->reason, "the header is too large");
	if (error == 0 &&
	    inject_header_count(&sending->header, STR("received")) > sending->config->maxhops) {
		buffer_append_string(&sending->reason, "too many hops, this message loops");
		return -EBADMSG;
	}
	return error;
}

static int write_message_to_send(struct sending *sending, struct inject_message *message)
{
	const struct sendmail_options *options = sending->options;
	const char *own_name = options->sender == NULL ? sending->caller->full_name : "";
	const struct inject_completion completion = {
		.hostname = str_from(sending->config->hostname),
		.domain = str_from(sending->domain),
		.from = sending->author,
		.full_name = str_from(options->full_name != NULL ? options->full_name : own_name),
		.id = inject_message_id(message),
	};
	int error;

	inject_header_complete(&sending->header, &completion, &sending->completed);
	inject_message_write(message, buffer_view(&sending->completed));
	error = inject_message_write(message, buffer_view(&sending->header.body));
	return error < 0 ? error : command_mail_copy(&sending->reader, message);
}

static int send_injected_message(struct sending *sending, char **argv)
{
	struct inject_message *message = NULL;
	int error = set_sender(sending);

	if (error == 0)
		error = read_header_to_send(sending);
	if (error == 0)
		error = set_recipients(sending, argv);
	if (error == 0)
		error = inject_message_open(sending->config, sending->caller, sending->link,
					    &message, &sending->reason);
	if (error != 0)
		return error;
	error = write_message_to_send(sending, message);
	if (error < 0) {
		inject_message_abandon(message);
		return error;
	}
	return inject_message_commit(message, MAIL_STAGE_SUBMIT, sending->envelope);
}

/* The message is queued: its sender hears of those who do not get it. */
static void report_bad(struct sending *sending)
{
	int error;

	if (sending->bad.count == 0)
		return;
	sendmail_bad_print(SENDMAIL_NAME, &sending->bad);
	error = sendmail_bad_report(&sending->bad, sending->config, sending->caller, sending->link,
				    sending->envelope, buffer_view(&sending->completed),
				    &sending->reason);
	if (error < 0)
		(void)command_mail_refused(&SENDMAIL_MAIL, sending->config, sending->caller, error,
					   &sending->reason);
}

static int deliver_from_input(const struct config *config, const struct sendmail_options *options,
			      const struct os_process_caller *caller, struct inject_link *link,
			      char **argv)
{
	struct sending sending = {
		.config = config,
		.domain = config_users_domain(config),
		.options = options,
		.caller = caller,
		.link = link,
		.envelope = mail_envelope_new(),
		.reader = {.descriptor = 0,
			   .dot_ends = !options->ignores_dot,
			   .removes_nul = config->nul == CONFIG_NUL_REMOVE},
	};
	int status = INJECT_OK;
	int error;

	sending.envelope->ret = options->ret;
	sending.envelope->envid = str_from(options->envid);
	error = send_injected_message(&sending, argv);
	if (error < 0)
		status = command_mail_refused(&SENDMAIL_MAIL, config, caller, error,
					      &sending.reason);
	else
		command_mail_accepted(&SENDMAIL_MAIL, config, caller, sending.envelope);
	if (error == 0)
		report_bad(&sending);
	inject_header_clear(&sending.header);
	buffer_clear(&sending.completed);
	buffer_clear(&sending.reason);
	mail_envelope_free(sending.envelope);
	return status;
}

static int deliver_input(const struct sendmail_options *options, const char *file, char **argv)
{
	struct os_process_caller caller;
	struct inject_link *link;
	struct config *config;
	int status;

	if (options->mode == SENDMAIL_DELIVER && argv[options->first] == NULL &&
	    !options->from_header) {
		fprintf(stderr, "%s: no recipients; give them as arguments, or use -t\n",
			SENDMAIL_NAME);
		return INJECT_USAGE;
	}
	os_process_caller_find(&caller);
	config = command_mail_begin(&SENDMAIL_MAIL, file, &link, &status);
	if (config == NULL)
		return status;
	status = options->mode == SENDMAIL_SESSION
			 ? sendmail_session_run(&SENDMAIL_MAIL, config, &caller, link)
			 : deliver_from_input(config, options, &caller, link, argv);
	inject_link_close(link);
	config_free(config);
	return status;
}

int command_sendmail(const struct command *command, int argc, char **argv)
{
	struct sendmail_options options;
	const char *file;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		struct buffer text CLEANUP(buffer_clear) = {0};

		command_append_help(command, &text);
		command_write(stdout, buffer_view(&text));
		return INJECT_OK;
	}
	if (!sendmail_options_parse(argc, argv, &options))
		return INJECT_USAGE;
	file = command_config_file(options.config_file);
	if (file == NULL)
		return INJECT_USAGE;
	switch (options.mode) {
	case SENDMAIL_LIST_QUEUE:
		return command_mailq_print(file);
	case SENDMAIL_ALIASES:
		return command_newaliases_run(file, NULL);
	case SENDMAIL_NOTHING:
		return INJECT_OK;
	case SENDMAIL_SESSION:
	case SENDMAIL_DELIVER:
		break;
	}
	return deliver_input(&options, file, argv);
}
