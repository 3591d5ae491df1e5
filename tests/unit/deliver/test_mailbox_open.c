// SPDX-License-Identifier: ISC
/* What the mailbox services of a configuration tell the stores where messages are filed. */
#include "config/text.h"
#include "deliver/mailbox/open.h"
#include "filing/mailstore/imap.h"
#include "filing/mailstore/maildir.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char told[500];
static char directory[SCRATCH_SIZE];

struct mailstore *__wrap_mailstore_imap_new(const struct mailstore_imap_settings *settings);
struct mailstore *__wrap_mailstore_maildir_new(const struct mailstore_maildir_settings *settings);

struct mailstore *__wrap_mailstore_imap_new(const struct mailstore_imap_settings *settings)
{
	snprintf(told, sizeof told,
		 "host %s address %s port %u tls %d authorities %s login %s password %s prefix %s "
		 "timeout %u",
		 settings->host, settings->address, settings->port, (int)settings->tls,
		 settings->authorities, settings->login, settings->password, settings->prefix,
		 settings->timeout_s);
	return (struct mailstore *)told;
}

struct mailstore *__wrap_mailstore_maildir_new(const struct mailstore_maildir_settings *settings)
{
	snprintf(told, sizeof told, "path %s host %s sync %d", settings->path, settings->host,
		 (int)settings->sync);
	return (struct mailstore *)told;
}

static struct config *config_with(const char *service, const char *more)
{
	struct config_problems problems = {0};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct config *config = NULL;
	int error;

	buffer_append_format(&text,
			     "hostname = mx.test\n%s\nrecord { backend = sqlite path = /r }\n"
			     "service s { %s }\n",
			     more, service);
	error = config_parse("t", buffer_view(&text), &config, &problems);
	if (error != 0)
		fail_msg("%s: %s", service, problems.first != NULL ? problems.first->message : "");
	config_problems_clear(&problems);
	return config;
}

static void check_store(const char *service, const char *more, int error, const char *wanted)
{
	struct config *config = config_with(service, more);
	struct mailstore *store = NULL;

	told[0] = '\0';
	assert_int_equal(mailbox_store_new(config, &config->services[0], &store), error);
	assert_string_equal(told, wanted);
	assert_int_equal(store != NULL, error == 0);
	config_free(config);
}

static void maildirs(void **state)
{
	static const struct {
		const char *setting;
		enum maildir_sync sync;
	} rows[] = {{"queue_sync = filesystem", MAILDIR_SYNC_FILESYSTEM},
		    {"queue_sync = files", MAILDIR_SYNC_FILES},
		    {"", MAILDIR_SYNC_AUTO}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char wanted[100];

		snprintf(wanted, sizeof wanted, "path /m/%%u host mx.test sync %d",
			 (int)rows[i].sync);
		check_store("kind = mailbox path = /m/%u", rows[i].setting, 0, wanted);
	}
}

static void imap_servers(void **state)
{
	static const struct {
		const char *settings, *wanted;
	} rows[] = {
		{"address = \"[::1]:143\" security = plain", "host ::1 address  port 143 tls 0"},
		{"address = 192.0.2.7:1143 server_name = imap.test security = starttls",
		 "host imap.test address 192.0.2.7 port 1143 tls 1"},
		{"address = 192.0.2.7:993 server_name = imap.test security = implicit",
		 "host imap.test address 192.0.2.7 port 993 tls 2"},
	};
	char path[SCRATCH_SIZE + 10], absent[SCRATCH_SIZE + 10];
	FILE *file;

	(void)state;
	snprintf(path, sizeof path, "%s/password", directory);
	snprintf(absent, sizeof absent, "%s/absent", directory);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs("geheim\n", file) >= 0 && fclose(file) == 0);
	assert_int_equal(chmod(path, 0600), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char service[500], wanted[500];

		snprintf(service, sizeof service,
			 "kind = imap login = \"%%a*m\" password_file = \"%s\" prefix = \"X/\" "
			 "timeout = 7 %s",
			 path, rows[i].settings);
		snprintf(wanted, sizeof wanted,
			 "%s authorities /etc/ssl/certs/ca-certificates.crt login %%a*m password "
			 "geheim prefix X/ timeout 7",
			 rows[i].wanted);
		check_store(service, "", 0, wanted);
		snprintf(service, sizeof service,
			 "kind = imap login = \"%%a*m\" password_file = \"%s\" %s", absent,
			 rows[i].settings);
		check_store(service, "", -ENOENT, "");
	}
}

static int make_directory(void **state)
{
	(void)state;
	return scratch_make(directory);
}

static int remove_directory(void **state)
{
	(void)state;
	return scratch_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maildirs),
		cmocka_unit_test(imap_servers),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
