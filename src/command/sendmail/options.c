// SPDX-License-Identifier: ISC
#include "command/sendmail/options.h"
#include "mail/text/xtext.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const struct command_option sendmail_options_rows[] = {
	{"-t", NULL, "recipients from To, Cc and Bcc, besides those given", 0},
	{"-i", NULL, "a line of one dot does not end the message", 0},
	{"-f", "SENDER", "envelope sender (the user at this host; <> for none)", 0},
	{"-r", "SENDER", NULL, 0},
	{"-F", "NAME", "full name, when the message has no From", 0},
	{"-N", "NOTIFY", "never, or some of success,failure,delay (RFC 3461)", 0},
	{"-R", "RETURN", "full or hdrs: what of the message a bounce returns", 0},
	{"-V", "ENVID", "what reports call the message: xtext (RFC 3461), or is made so", 0},
	{"-b", "MODE",
	 "m: queue a message (default); p: list the queue, as mailq does; i: read the "
	 "aliases, as newaliases does; s: speak SMTP on standard input and output; others are "
	 "refused",
	 0},
	{"-q", "[WHAT]", "nothing: the queue runs by itself", 0},
	{"-o", "OPTION", "i: the same as -i; others are accepted and change nothing", 0},
	{"-C", "FILE", "the configuration", 0},
	{"-A", "WORD", "accepted, and changes nothing", 0},
	{"-a", NULL, NULL, 0},
	{"-B", "TYPE", NULL, 0},
	{"-c", NULL, NULL, 0},
	{"-d", "LEVEL", NULL, 0},
	{"-E", NULL, NULL, 0},
	{"-e", "MODE", NULL, 0},
	{"-G", NULL, NULL, 0},
	{"-h", "HOPS", NULL, 0},
	{"-I", NULL, NULL, 0},
	{"-J", "FILE", NULL, 0},
	{"-L", "TAG", NULL, 0},
	{"-m", NULL, NULL, 0},
	{"-n", NULL, NULL, 0},
	{"-O", "OPTION=VALUE", NULL, 0},
	{"-p", "PROTOCOL", NULL, 0},
	{"-s", NULL, NULL, 0},
	{"-T", NULL, NULL, 0},
	{"-U", NULL, NULL, 0},
	{"-v", NULL, NULL, 0},
	{"-X", "FILE", NULL, 0},
	{"-x", NULL, NULL, 0},
	COMMAND_OPTION_END,
};

enum { LETTERS_SIZE = 3 * COUNT_OF(sendmail_options_rows) + 3 };

/* For getopt(3). "+": options end at the first recipient. */
static void list_letters(char letters[LETTERS_SIZE])
{
	const struct command_option *option = sendmail_options_rows;

	letters += sprintf(letters, "+:");
	for (; option->name != NULL; option++)
		letters += sprintf(letters, "%c%s", option->name[1],
				   option->argument == NULL     ? ""
				   : option->argument[0] == '[' ? "::"
								: ":");
}

static bool refuse_sendmail_option(const char *what, const char *hint)
{
	fprintf(stderr, "sendmail: %s; %s\n", what, hint);
	return false;
}

static bool set_mode(struct sendmail_options *options, const char *mode)
{
	switch (mode[0]) {
	case 'm':
		return true;
	case 'p':
		options->mode = SENDMAIL_LIST_QUEUE;
		return true;
	case 'i':
		options->mode = SENDMAIL_ALIASES;
		return true;
	case 's':
		options->mode = SENDMAIL_SESSION;
		return true;
	case 'd':
	case 'D':
		return refuse_sendmail_option("-bd is not supported",
					      "\"stagepost serve\" is the daemon");
	default:
		return refuse_sendmail_option("no such mode (-b)",
					      "-bm, -bp, -bi and -bs are known");
	}
}

static bool set_notify(struct sendmail_options *options, const char *text)
{
	static const struct {
		const char *name;
		unsigned flag;
	} names[] = {{"never", MAIL_NOTIFY_NEVER},
		     {"success", MAIL_NOTIFY_SUCCESS},
		     {"failure", MAIL_NOTIFY_FAILURE},
		     {"delay", MAIL_NOTIFY_DELAY}};
	struct str rest = str_from(text);
	struct str word;

	options->notify = 0;
	while (str_split(&rest, ',', &word)) {
		size_t i = 0;

		while (i < 4 && !str_equal_nocase(str_trim(word), str_from(names[i].name)))
			i++;
		if (i == 4)
			return refuse_sendmail_option("wrong value of -N",
						      "never, or some of success,failure,delay");
		options->notify |= names[i].flag;
	}
	if ((options->notify & MAIL_NOTIFY_NEVER) && options->notify != MAIL_NOTIFY_NEVER)
		return refuse_sendmail_option("wrong value of -N",
					      "\"never\" excludes the other values");
	return true;
}

static bool set_return(struct sendmail_options *options, const char *text)
{
	if (strcasecmp(text, "hdrs") == 0)
		options->ret = MAIL_RET_HEADERS;
	else if (strcasecmp(text, "full") == 0)
		options->ret = MAIL_RET_FULL;
	else
		return refuse_sendmail_option("wrong value of -R", "full or hdrs");
	return true;
}

/* Some programs pass xtext, as in SMTP, and others plain text. */
static bool set_envid(struct sendmail_options *options, const char *text)
{
	struct buffer xtext CLEANUP(buffer_clear) = {0};

	if (mail_xtext_is_valid(str_from(text)))
		buffer_append_string(&xtext, text);
	else
		mail_xtext_append(&xtext, str_from(text));
	if (xtext.length > MAIL_ENVID_MAX || !mail_xtext_is_valid(buffer_view(&xtext)))
		return refuse_sendmail_option("wrong value of -V",
					      "up to 100 printable characters of ASCII");
	memcpy(options->envid, buffer_data(&xtext), xtext.length);
	options->envid[xtext.length] = '\0';
	return true;
}

static bool take_sendmail_option(struct sendmail_options *options, int letter, const char *argument)
{
	switch (letter) {
	case 'b':
		return set_mode(options, argument);
	case 'C':
		options->config_file = argument;
		return true;
	case 'F':
		options->full_name = argument;
		return true;
	case 'f':
	case 'r':
		options->sender = argument;
		return true;
	case 'i':
		options->ignores_dot = true;
		return true;
	case 'N':
		return set_notify(options, argument);
	case 'o':
		options->ignores_dot |= strcmp(argument, "i") == 0;
		return true;
	case 'q':
		options->mode = SENDMAIL_NOTHING;
		return true;
	case 'R':
		return set_return(options, argument);
	case 'V':
		return set_envid(options, argument);
	case 't':
		options->from_header = true;
		return true;
	case ':':
	case '?':
		fprintf(stderr, "sendmail: %s -%c; \"sendmail --help\" says more\n",
			letter == '?' ? "unknown option" : "an argument is missing after", optopt);
		return false;
	default:
		return true;
	}
}

bool sendmail_options_parse(int argc, char **argv, struct sendmail_options *options)
{
	char letters[LETTERS_SIZE];
	int letter;

	list_letters(letters);
	*options = (struct sendmail_options){.mode = SENDMAIL_DELIVER};
	opterr = 0;
	while ((letter = getopt(argc, argv, letters)) != -1)
		if (!take_sendmail_option(options, letter, optarg))
			return false;
	options->first = optind;
	return true;
}
