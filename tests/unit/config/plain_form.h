// SPDX-License-Identifier: ISC
/*
 * tests/unit/config/plain_form.h - values that are taken apart, against a second, plain description
 * of them: all texts near to some.
 */
#ifndef TESTS_UNIT_CONFIG_PLAIN_FORM_H
#define TESTS_UNIT_CONFIG_PLAIN_FORM_H

#include "mail/host.h"
#include "type_text.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

enum { PIECE_SIZE = 1200 };

/* A text that is taken apart, with what is said of it. */
struct plain {
	char text[PIECE_SIZE];
	char outcome[2 * PIECE_SIZE];
};

/* Takes TEXT apart: NULL, and how it is PRINTED; or what is wrong. */
typedef const char *plain_form(char *text, char *printed);

/* Ends TEXT at the first BYTE and returns what follows; NULL: there is none. */
static inline char *cut_first(char *text, char byte)
{
	char *found = strchr(text, byte);

	if (found != NULL)
		*found++ = '\0';
	return found;
}

static inline char *cut_last(char *text, char byte)
{
	char *found = strrchr(text, byte);

	if (found != NULL)
		*found++ = '\0';
	return found;
}

/* 0: it is none. */
static inline unsigned plain_port(const char *text)
{
	size_t length = strlen(text);

	if (length == 0 || length > 5 || strspn(text, "0123456789") < length)
		return 0;
	return atoi(text) <= 65535 ? (unsigned)atoi(text) : 0;
}

/* 4 or 6 and its bytes; 0: no address. */
static inline int plain_address(const char *text, unsigned char bytes[16])
{
	if (inet_pton(AF_INET, text, bytes) == 1)
		return 4;
	return inet_pton(AF_INET6, text, bytes) == 1 ? 6 : 0;
}

static inline bool is_mapped(const unsigned char bytes[16])
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(bytes, mapped, sizeof mapped) == 0;
}

/* Removes brackets around something. */
static inline bool cut_brackets(char **text)
{
	size_t length = strlen(*text);

	if (length <= 2 || (*text)[0] != '[' || (*text)[length - 1] != ']')
		return false;
	(*text)[length - 1] = '\0';
	(*text)++;
	return true;
}

static inline bool plain_host(char *text)
{
	for (char *c = text; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	return mail_host_is_name(str_from(text));
}

struct form_kind {
	const struct config_type *type;
	plain_form *plain;
	const char *letters;
	const char *seeds[8];
};

struct form_trial {
	const struct form_kind *kind;
	struct config *config;
	size_t accepted, refused;
};

static inline void try_form(void *context, struct str text)
{
	struct form_trial *trial = context;
	struct config_setting row = {.type = trial->kind->type};
	struct plain plain = {0};
	char printed[PIECE_SIZE] = "";
	const char *complaint, *found;

	memcpy(plain.text, text.data, text.length);
	complaint = trial->kind->plain(plain.text, printed);
	if (complaint != NULL)
		snprintf(plain.outcome, sizeof plain.outcome, "%s", complaint);
	else
		snprintf(plain.outcome, sizeof plain.outcome, "= %s", printed);
	found = outcome_of_value(&row, trial->config, text);
	if (strcmp(found, plain.outcome) != 0)
		fail_msg("type \"%s\": \"%.*s\": \"%s\" and not \"%s\"", row.type->name,
			 STR_ARGUMENTS(text), found, plain.outcome);
	*(complaint != NULL ? &trial->refused : &trial->accepted) += 1;
}

/* Tries each text near to the seeds of COUNT kinds; there are two services, "box" and "bo". */
static inline void try_forms(const struct form_kind *kinds, size_t count)
{
	struct config *config =
		config_of(HOST BOX "service bo { kind = maildir path = /m/%d/%u }\n");

	for (size_t i = 0; i < count; i++) {
		struct form_trial trial = {.kind = &kinds[i], .config = config};

		for (size_t k = 0; k < COUNT_OF(kinds[i].seeds); k++)
			if (kinds[i].seeds[k] != NULL)
				try_near(kinds[i].seeds[k], kinds[i].letters, try_form, &trial);
		assert_true(trial.accepted > 1 && trial.refused > 1);
	}
	config_free(config);
}

#endif
