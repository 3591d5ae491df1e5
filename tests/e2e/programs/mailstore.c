// SPDX-License-Identifier: ISC
/*
 * tests/e2e/programs/mailstore.c - a store of copies, driven by lines of words between tabs.
 *
 *   mailstore maildir PATH SYNC
 *   mailstore imap HOST PORT plain|starttls|implicit AUTHORITIES LOGIN PASSWORD PREFIX SECONDS
 *
 *   append USER FOLDER FILE SENDER RECIPIENT FLAGS DATE   noted; FLAGS and DATE are numbers
 *   go                        appends what was noted: "STATUS UNKNOWN COPY TEXT" for each, then "."
 *   find USER FOLDER FILE     "RESULT ERROR COPY..."
 *   remove USER FOLDER FILE COPY                          "RESULT ERROR"
 *
 * Which message it is, is told from FILE.
 */
#include "base/panic.h"
#include "filing/decode/identity.h"
#include "filing/mailstore/imap.h"
#include "filing/mailstore/maildir.h"
#include "os/file/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 16, APPENDS_MAX = 4096 };

static struct mailstore *store;
static struct mailstore_append appends[APPENDS_MAX];
static size_t append_count;
static struct arena *arena;

static struct mailstore_location place_of(char **words, struct ipc_content *content_out)
{
	struct decode_identity identity;
	struct os_file_info info;
	struct ipc_content content = {.file = os_file_open(OS_FILE_HERE, words[3], OS_FILE_READ)};

	if (content.file < 0 || os_file_info(content.file, &info) < 0)
		panic("no file %s", words[3]);
	content.size = info.size;
	if (decode_identify(&content, arena, &identity) < 0)
		panic("cannot read %s", words[3]);
	*content_out = content;
	return (struct mailstore_location){
		.user = arena_copy_str(arena, str_from(words[1])),
		.folder = arena_copy_str(arena, str_from(words[2])),
		.id = identity.id,
		.digest = (const unsigned char *)arena_copy(
			arena, str_slice((const char *)identity.digest, DECODE_DIGEST_SIZE)),
	};
}

static void note_append(char **words)
{
	struct mailstore_append *append = &appends[append_count++];

	*append = (struct mailstore_append){0};
	append->location = place_of(words, &append->content);
	append->sender = arena_copy_str(arena, str_from(words[4]));
	append->recipient = arena_copy_str(arena, str_from(words[5]));
	append->flags = (unsigned)strtoul(words[6], NULL, 10);
	append->date_us = strtoll(words[7], NULL, 10);
}

static void go(void)
{
	mailstore_append(store, appends, append_count, NULL);
	for (size_t i = 0; i < append_count; i++) {
		printf("%s\t%d\t%s\t%s\n", appends[i].verdict.status, appends[i].is_unknown,
		       appends[i].copy, appends[i].verdict.text);
		os_file_close(appends[i].content.file);
	}
	printf(".\n");
	append_count = 0;
	arena_reset(arena);
}

static void find(char **words)
{
	struct ipc_content content;
	struct mailstore_location location = place_of(words, &content);
	struct mailstore_found *found = NULL;
	size_t count = 0;
	int result = mailstore_find(store, &location, arena, &found, &count);

	printf("%d\t%s", result, store->error);
	for (size_t i = 0; i < count; i++)
		printf("\t%s", found[i].copy);
	printf("\n");
	os_file_close(content.file);
	arena_reset(arena);
}

static void remove_copy(char **words)
{
	struct ipc_content content;
	struct mailstore_location location = place_of(words, &content);
	int result = mailstore_remove(store, &location, words[4]);

	printf("%d\t%s\n", result, store->error);
	os_file_close(content.file);
	arena_reset(arena);
}

static struct mailstore *open_store(char **words)
{
	static const char *const syncs[] = {"auto", "files", "filesystem", "ordered"};
	struct mailstore_maildir_settings maildir = {.host = "store.test"};
	struct mailstore_imap_settings imap = {.address = ""};

	if (strcmp(words[1], "maildir") == 0) {
		maildir.path = words[2];
		for (size_t i = 0; i < COUNT_OF(syncs); i++)
			if (strcmp(words[3], syncs[i]) == 0)
				maildir.sync = (enum maildir_sync)i;
		return mailstore_maildir_new(&maildir);
	}
	imap.host = words[2];
	imap.port = (uint16_t)strtoul(words[3], NULL, 10);
	imap.tls = strcmp(words[4], "plain") == 0      ? MAILSTORE_IMAP_PLAIN
		   : strcmp(words[4], "starttls") == 0 ? MAILSTORE_IMAP_STARTTLS
						       : MAILSTORE_IMAP_IMPLICIT;
	imap.authorities = words[5];
	imap.login = words[6];
	imap.password = words[7];
	imap.prefix = words[8];
	imap.timeout_s = (unsigned)strtoul(words[9], NULL, 10);
	return mailstore_imap_new(&imap);
}

int main(int argc, char **argv)
{
	char line[8192];

	if (argc < 4)
		panic("what store?");
	setvbuf(stdout, NULL, _IOLBF, 0);
	store = open_store(argv);
	arena = arena_new();
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *words[WORDS_MAX] = {NULL};
		char *rest = line;
		size_t count = 0;

		line[strcspn(line, "\n")] = '\0';
		while (count < WORDS_MAX && rest != NULL)
			words[count++] = strsep(&rest, "\t");
		if (strcmp(words[0], "append") == 0 && append_count < APPENDS_MAX)
			note_append(words);
		else if (strcmp(words[0], "go") == 0)
			go();
		else if (strcmp(words[0], "find") == 0)
			find(words);
		else if (strcmp(words[0], "remove") == 0)
			remove_copy(words);
		else
			panic("what is %s?", words[0]);
	}
	mailstore_free(store);
	arena_free(arena);
	return EXIT_SUCCESS;
}
