// SPDX-License-Identifier: ISC
#include "rights_found.h"
#include "base/buffer.h"
#include "rights_scene.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_name(char *names, const char *name)
{
	size_t length = strlen(names), added = strlen(name);

	if (length > added && strcmp(names + length - added, name) == 0 &&
	    names[length - added - 1] == ' ')
		return;
	strcat(names, " ");
	strcat(names, name);
}

static void add_finding(struct rights_found *groups, const struct rights_finding *finding)
{
	char text[300];
	size_t i = 0;

	snprintf(text, sizeof text, "%s; allowed: %s", finding->found, finding->allowed);
	while (i < groups->count && strcmp(groups->list[i].text, text) != 0)
		i++;
	if (i == groups->count) {
		assert_true(groups->count < COUNT_OF(groups->list));
		groups->list[groups->count++] = (struct rights_found_group){.names = ""};
		memcpy(groups->list[i].text, text, sizeof text);
	}
	add_name(groups->list[i].names, finding->program);
}

void rights_found_add(struct rights_found *groups, const struct program_users *users, pid_t about)
{
	const struct rights_expected expected = {rights_scene.config, users};
	struct rights_findings findings;

	rights_findings_init(&findings);
	rights_check(&rights_scene.node, &expected, &findings);
	for (size_t i = 0; i < findings.count; i++)
		if (about == 0 || findings.list[i].pid == about)
			add_finding(groups, &findings.list[i]);
	rights_findings_clear(&findings);
}

static void append_named(struct buffer *out, const char *text)
{
	while (*text != '\0') {
		bool is_root = strncmp(text, rights_scene.root, strlen(rights_scene.root)) == 0;

		buffer_append_byte(out, is_root ? '@' : *text);
		text += is_root ? strlen(rights_scene.root) : 1;
	}
}

void rights_found_print(const char *head, const struct rights_found *groups, struct buffer *out)
{
	append_named(out, head);
	buffer_append_byte(out, '\n');
	for (size_t i = 0; i < groups->count; i++) {
		buffer_append_string(out, "    ");
		append_named(out, groups->list[i].text);
		buffer_append_format(out, ":%s\n", groups->list[i].names);
	}
}

static void read_golden(const char *path, struct buffer *out)
{
	FILE *file = fopen(path, "re");
	size_t count;

	assert_non_null(file);
	do {
		count = fread(buffer_reserve(out, 4096), 1, 4096, file);
		buffer_commit(out, count);
	} while (count > 0);
	fclose(file);
}

static void write_golden(const char *path, struct str text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.length, file), text.length);
	assert_int_equal(fclose(file), 0);
}

void rights_found_compare(const char *path, struct str found)
{
	struct buffer wanted CLEANUP(buffer_clear) = {0};
	struct str a, b, one, other;

	read_golden(path, &wanted);
	if (str_equal(found, buffer_view(&wanted)))
		return;
	if (getenv("WRITE") != NULL)
		write_golden(path, found);
	a = buffer_view(&wanted);
	b = found;
	while (str_split(&a, '\n', &one) && str_split(&b, '\n', &other) && str_equal(one, other))
		;
	fail_msg("wanted " STR_FORMAT "\nfound " STR_FORMAT, STR_ARGUMENTS(one),
		 STR_ARGUMENTS(other));
}
