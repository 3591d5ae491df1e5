// SPDX-License-Identifier: ISC
#include "letter.h"
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What lacks a date is given the one of the moment, and so another one each time that it comes. */
#define DATE "Date: Thu, 1 Jan 2026 00:00:00 +0000\r\n"

static size_t append(char **text, size_t used, const char *line)
{
	size_t length = strlen(line);

	*text = realloc(*text, used + length + 1);
	if (*text == NULL)
		err(1, "no memory");
	memcpy(*text + used, line, length + 1);
	return used + length;
}

static size_t append_body(char **text, size_t used, uint64_t number, const char *recipient,
			  uint64_t lines, const char *end)
{
	char line[160];

	for (uint64_t i = 0; i < lines; i++) {
		snprintf(line, sizeof line, "line %llu of %llu for %s%s", (unsigned long long)i,
			 (unsigned long long)number, recipient, end);
		used = append(text, used, line);
	}
	snprintf(line, sizeof line, "end of %llu%s", (unsigned long long)number, end);
	return append(text, used, line);
}

size_t letter_write(uint64_t number, const char *recipient, uint64_t lines, char **text_out)
{
	char line[300];
	char *text = NULL;
	size_t used;

	snprintf(line, sizeof line,
		 "From: <world@client.example>\r\nTo: <%s>\r\nX-World: %llu\r\n" DATE
		 "Message-ID: <%llu@world.example>\r\n\r\n",
		 recipient, (unsigned long long)number, (unsigned long long)number);
	used = append(&text, 0, line);
	used = append_body(&text, used, number, recipient, lines, "\r\n");
	used = append(&text, used, ".\r\n");
	*text_out = text;
	return used;
}

bool letter_is_whole(const char *text, uint64_t number, const char *recipient, uint64_t lines)
{
	const char *body = strstr(text, "\n\n");
	char *wanted = NULL;
	bool is_equal;

	if (body == NULL)
		return false;
	append_body(&wanted, 0, number, recipient, lines, "\n");
	is_equal = strcmp(body + 2, wanted) == 0;
	free(wanted);
	return is_equal;
}

uint64_t letter_number(const char *text)
{
	static const char *const fields[] = {"\nX-World: ", "\nOriginal-Envelope-Id: "};

	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		const char *field = strstr(text, fields[i]);

		if (field != NULL)
			return strtoull(field + strlen(fields[i]), NULL, 10);
	}
	return UINT64_MAX;
}

char *letter_without_returns(const char *text, size_t size)
{
	char *copy = malloc(size + 1);
	size_t used = 0;

	if (copy == NULL)
		err(1, "no memory");
	for (size_t i = 0; i < size; i++)
		if (text[i] != '\r')
			copy[used++] = text[i];
	copy[used] = '\0';
	return copy;
}
