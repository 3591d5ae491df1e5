// SPDX-License-Identifier: ISC
#include "smtp/client/capabilities.h"
#include "base/attributes.h"
#include <string.h>

static void take_pipelining(struct smtp_capabilities *capabilities, struct str parameters)
{
	(void)parameters;
	capabilities->has_pipelining = true;
}

static void take_8bitmime(struct smtp_capabilities *capabilities, struct str parameters)
{
	(void)parameters;
	capabilities->has_8bitmime = true;
}

static void take_dsn(struct smtp_capabilities *capabilities, struct str parameters)
{
	(void)parameters;
	capabilities->has_dsn = true;
}

static void take_utf8(struct smtp_capabilities *capabilities, struct str parameters)
{
	(void)parameters;
	capabilities->has_utf8 = true;
}

static void take_starttls(struct smtp_capabilities *capabilities, struct str parameters)
{
	(void)parameters;
	capabilities->has_starttls = true;
}

static void take_requiretls(struct smtp_capabilities *capabilities, struct str parameters)
{
	(void)parameters;
	capabilities->has_requiretls = true;
}

/* One of several lines, perhaps. */
static void take_auth(struct smtp_capabilities *capabilities, struct str parameters)
{
	size_t length = strlen(capabilities->mechanisms);
	struct str word;

	capabilities->has_auth = true;
	while (str_split(&parameters, ' ', &word)) {
		if (word.length == 0 || length + word.length + 2 > SMTP_MECHANISMS_SIZE)
			continue;
		if (length > 0)
			capabilities->mechanisms[length++] = ' ';
		memcpy(capabilities->mechanisms + length, word.data, word.length);
		length += word.length;
		capabilities->mechanisms[length] = '\0';
	}
}

static void take_priority(struct smtp_capabilities *capabilities, struct str parameters)
{
	(void)parameters;
	capabilities->has_priority = true;
}

static void take_deliverby(struct smtp_capabilities *capabilities, struct str parameters)
{
	capabilities->has_deliverby = true;
	if (!str_to_u64(str_trim(parameters), &capabilities->by_min))
		capabilities->by_min = 0;
}

const char *const smtp_xforward_names[SMTP_XFORWARD_COUNT] = {"NAME", "ADDR",  "PORT",  "PROTO",
							      "HELO", "IDENT", "SOURCE"};

static void take_xforward(struct smtp_capabilities *capabilities, struct str parameters)
{
	struct str word;

	while (str_split(&parameters, ' ', &word))
		for (unsigned i = 0; i < SMTP_XFORWARD_COUNT; i++)
			if (str_equal_nocase(word, str_from(smtp_xforward_names[i])))
				capabilities->xforward |= 1u << i;
}

static void take_chunking(struct smtp_capabilities *capabilities, struct str parameters)
{
	(void)parameters;
	capabilities->has_chunking = true;
}

static void take_binarymime(struct smtp_capabilities *capabilities, struct str parameters)
{
	(void)parameters;
	capabilities->has_binarymime = true;
}

/* A limit of 0, or that is no number, is none. */
static void take_limits(struct smtp_capabilities *capabilities, struct str parameters)
{
	struct str word;
	struct str name;

	while (str_split(&parameters, ' ', &word)) {
		uint64_t *limit = NULL;

		if (!str_split(&word, '=', &name) || word.data == NULL)
			continue;
		if (str_equal_nocase(name, STR("MAILMAX")))
			limit = &capabilities->mail_max;
		else if (str_equal_nocase(name, STR("RCPTMAX")))
			limit = &capabilities->rcpt_max;
		if (limit != NULL && !str_to_u64(word, limit))
			*limit = 0;
	}
}

static void take_size_capability(struct smtp_capabilities *capabilities, struct str parameters)
{
	capabilities->has_size = true;
	if (!str_to_u64(str_trim(parameters), &capabilities->size))
		capabilities->size = 0;
}

static const struct {
	const char *keyword;
	void (*take)(struct smtp_capabilities *capabilities, struct str parameters);
} keywords[] = {
	{"PIPELINING", take_pipelining}, {"8BITMIME", take_8bitmime},
	{"SIZE", take_size_capability},  {"DSN", take_dsn},
	{"SMTPUTF8", take_utf8},         {"AUTH", take_auth},
	{"CHUNKING", take_chunking},     {"BINARYMIME", take_binarymime},
	{"LIMITS", take_limits},         {"STARTTLS", take_starttls},
	{"REQUIRETLS", take_requiretls}, {"MT-PRIORITY", take_priority},
	{"DELIVERBY", take_deliverby},   {"XFORWARD", take_xforward},
};

void smtp_capabilities_parse(struct str text, struct smtp_capabilities *capabilities_out)
{
	struct smtp_capabilities capabilities = {0};
	struct str line;

	(void)str_split(&text, '\n', &line);
	while (text.length > 0) {
		struct str keyword;

		(void)str_split(&text, '\n', &line);
		line = str_trim(line);
		(void)str_split(&line, ' ', &keyword);
		for (size_t i = 0; i < COUNT_OF(keywords); i++)
			if (str_equal_nocase(keyword, str_from(keywords[i].keyword)))
				keywords[i].take(&capabilities, line);
	}
	*capabilities_out = capabilities;
}
