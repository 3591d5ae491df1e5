// SPDX-License-Identifier: ISC
#include "program/sendmail_options.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* As in the first sendmail; "+": what follows the first recipient is none. */
static const char letters[] = "+:A:B:b:C:cd:e:F:f:Gh:IiL:mN:nO:o:p:q::R:r:sTtUV:vX:x";

static bool refuse(const char *what, const char *hint)
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
		return refuse("-bs is not supported",
			      "speak SMTP to a listen of stagepost.conf instead");
	case 'd':
	case 'D':
		return refuse("-bd is not supported", "\"stagepost serve\" is the daemon");
	default:
		return refuse("no such mode (-b)", "-bm, -bp and -bi are known");
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
			return refuse("wrong value of -N",
				      "never, or some of success,failure,delay");
		options->notify |= names[i].flag;
	}
	if ((options->notify & MAIL_NOTIFY_NEVER) && options->notify != MAIL_NOTIFY_NEVER)
		return refuse("wrong value of -N", "never stands alone");
	return true;
}

static bool set_return(struct sendmail_options *options, const char *text)
{
	if (strcasecmp(text, "hdrs") == 0)
		options->ret = MAIL_RET_HEADERS;
	else if (strcasecmp(text, "full") == 0)
		options->ret = MAIL_RET_FULL;
	else
		return refuse("wrong value of -R", "full or hdrs");
	return true;
}

static bool take(struct sendmail_options *options, int letter, const char *argument)
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
	int letter;

	*options = (struct sendmail_options){.mode = SENDMAIL_DELIVER};
	opterr = 0;
	while ((letter = getopt(argc, argv, letters)) != -1)
		if (!take(options, letter, optarg))
			return false;
	options->first = optind;
	return true;
}
