// SPDX-License-Identifier: ISC
/* What this machine lacks of what a configuration names: what is said of it, and how bad it is. */
#include "base/buffer.h"
#include "config/text.h"
#include "os/process/process.h"
#include "scratch.h"
#include "supervisor/machine_check/machine_check.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD   "hostname = \"mx.example.org\"\nuser = \"\"\nqueue_unsafe = yes\n"
#define PLACES "queue = \"%s/queue\"\nrun = \"%s/run\"\n"
#define LISTEN "listen smtp { address = \"127.0.0.1:2525\" }\n"
#define RIGHT  HEAD PLACES LISTEN
/* On Debian "sync" has the group of "nobody". */
#define OTHERS \
	"hostname = \"mx.example.org\"\nuser = \"nobody\"\nqueue_unsafe = yes\n" PLACES LISTEN
#define DOMAIN "default_domain = a.example\n"
#define SHARED(listen, authority)                                                               \
	"directory { path = \"%s/db\" " listen "certificate = \"%s/there\" key = \"%s/there\" " \
	"authority = \"" authority "\" }\n" DOMAIN

#define IMAP(password, more)                                                                   \
	"service a { kind = imap address = \"127.0.0.1:143\" login = \"%%a\" password_file = " \
	"\"" password "\" " more " }\n"

static char folder[SCRATCH_SIZE];

/* %s in a text is the scratch directory. */
static const struct row {
	const char *text;
	const char *line; /* what begins with FILE, of the worst; "" none */
	int worst;
} rows[] = {
	{RIGHT, "", -1},
	{HEAD PLACES,
	 "t: warning: listen: not configured: mail comes only from commands on this machine",
	 MACHINE_WARNING},
	{RIGHT "service a { kind = maildir path = \"%s/%%d\" }\n",
	 "t:7: warning: service a.path: %s/%%d has no %%u: all addresses of a domain share one "
	 "mailbox",
	 MACHINE_WARNING},
	{RIGHT "service a { kind = maildir path = \"%s/%%u\" }\n", "", -1},
	{RIGHT "relay_from = { \"192.0.2.0/24\", \"10.0.0.0/8\", \"fd00::/16\" }\n", "", -1},
	{RIGHT "relay_from = { \"192.0.2.0/24\", \"0.0.0.0/0\" }\n",
	 "t:7: relay_from: 0.0.0.0/0: strangers may send mail to any domain: this is an open relay",
	 MACHINE_FAULT},
	{RIGHT "relay_from = \"::/0\"\n",
	 "t:7: relay_from: ::/0: strangers may send mail to any domain: this is an open relay",
	 MACHINE_FAULT},
	{RIGHT "listen submission { address = \"127.0.0.1:2587\" }\n", "", -1},
	{RIGHT "listen submission { address = \"192.0.2.1:2587\" }\n",
	 "t:7: warning: listen submission.address: 192.0.2.1:2587 has no TLS: mail and passwords "
	 "come "
	 "in "
	 "plain text; there is no section certificate",
	 MACHINE_WARNING},
	{RIGHT "smtproutes = \":relay.example.net\"\n", "", -1},
	{RIGHT "smtproutes = \"a.test:[127.0.0.1];2525\"\n",
	 "t:7: smtproutes: a.test:[127.0.0.1];2525 leads to where this node listens itself: a loop",
	 MACHINE_FAULT},
	{RIGHT "fallback_relays = \"MX.example.org;2525\"\n",
	 "t:7: fallback_relays: :mx.example.org;2525 leads to where this node listens itself: a "
	 "loop",
	 MACHINE_FAULT},
	{RIGHT "smtproutes = \"a.test:mx.example.org;26\"\n", "", -1},
	{RIGHT "service a { kind = lmtp address = \"unix:/nowhere/lmtp\" }\n",
	 "t:7: warning: service a.address: /nowhere/lmtp: No such file or directory",
	 MACHINE_WARNING},
	{RIGHT "service a { kind = lmtp address = \"unix:%s/there\" }\n",
	 "t:7: warning: service a.address: %s/there is no socket", MACHINE_WARNING},
	{RIGHT "rate a { count = messages per = user limit = 5 interval = 60 }\n",
	 "t:7: warning: rate a.per: user: nobody can log in, so nothing is counted",
	 MACHINE_WARNING},
	{RIGHT "service a { kind = pipe command = \"/nowhere/a\" user = \"daemon\" }\n",
	 "t:7: service a.command: /nowhere/a: No such file or directory", MACHINE_FAULT},
	{RIGHT "service a { kind = pipe command = \"%s/there\" user = \"daemon\" }\n",
	 "t:7: service a.command: %s/there cannot be run: no executable file", MACHINE_FAULT},
	{RIGHT "service a { kind = pipe command = \"%s\" user = \"daemon\" }\n",
	 "t:7: service a.command: %s cannot be run: no executable file", MACHINE_FAULT},
	{RIGHT "service a { kind = pipe command = \"/bin/true\" user = \"nobody-there\" }\n",
	 "t:7: service a.user: there is no user nobody-there on this machine", MACHINE_FAULT},
	{RIGHT "service a { kind = pipe command = \"/bin/true\" user = \"%%u\" }\n", "", -1},
	{OTHERS "service a { kind = pipe command = \"/bin/true\" user = \"daemon\" }\n", "", -1},
	{OTHERS "service a { kind = pipe command = \"/bin/true\" user = \"sync\" }\n",
	 "t:7: service a.user: the group of sync is that of nobody, which may connect to the "
	 "sockets in %s/run: its programs are not run",
	 MACHINE_FAULT},
	{HEAD "queue = \"%s/run/queue\"\nrun = \"%s/run\"\n" LISTEN,
	 "t:4: queue: %s/run/queue is inside run, %s/run: that is emptied when the machine starts",
	 MACHINE_FATAL},
	{HEAD "queue = \"%s/queue\"\nrun = \"%s/queue/run\"\n" LISTEN,
	 "t:5: run: %s/queue/run is inside queue, %s/queue", MACHINE_FATAL},
	{HEAD "queue = \"%s/runs\"\nrun = \"%s/run\"\n" LISTEN, "", -1},
	{HEAD "queue = \"%s/there\"\nrun = \"%s/run\"\n" LISTEN,
	 "t:4: queue: %s/there is no directory", MACHINE_FATAL},
	/* the files of the TLS that it speaks with other machines are read */
	{RIGHT SHARED("listen = \"127.0.0.1:7071\" readers = \"a.example\" ",
		      "/etc/ssl/certs/ca-certificates.crt"),
	 "t:7: directory.key: %s/there: it holds no private key in PEM form", MACHINE_FAULT},
	/* nobody sees it */
	{RIGHT SHARED("", "%s/there"), "", -1},
	{RIGHT SHARED("", "%s/nowhere"),
	 "t:7: directory.authority: %s/nowhere: No such file or directory", MACHINE_FAULT},
	{HEAD "queue = \"%s/a/queue\"\nrun = \"%s/run\"\n" LISTEN,
	 "t:4: queue: %s/a/queue cannot be made: there is no %s/a", MACHINE_FATAL},
	{RIGHT "mta_sts = yes\npolicy_path = \"%s/a/policy\"\n",
	 "t:8: policy_path: %s/a/policy cannot be made: there is no %s/a", MACHINE_FATAL},
	{RIGHT "policy_path = \"%s/a/policy\"\n", "", -1},
	{RIGHT "directory { path = \"%s/new/db\" }\n" DOMAIN, "", -1},
	{RIGHT "directory { path = \"%s/new/db\" }\n",
	 "t: warning: default_domain: not set, and there is no section domain: unless the "
	 "directory "
	 "has the domain mx.example.org, mail for postmaster and for doublebounceto is refused",
	 MACHINE_WARNING},
	{RIGHT "service a { kind = maildir path = \"%s/%%u\" user = \"%%u\" }\n"
	       "default_domain = \"b.example\"\ndomain \"a.example\" { service = a }\n",
	 "t:9: warning: domain a.example.service: service a has no mailbox for its postmaster "
	 "(No user is called postmaster), whose mail goes to the postmaster of this node",
	 MACHINE_WARNING},
	{RIGHT "service a { kind = maildir path = \"%s/%%u\" user = \"%%u\" }\n"
	       "domain \"a.example\" { service = a }\n",
	 "t:8: warning: domain a.example.service: service a has no mailbox for its postmaster "
	 "(No user is called postmaster), who is the postmaster of this node, too: his mail fails",
	 MACHINE_WARNING},
	{RIGHT "service a { kind = maildir path = \"%s/%%u\" user = \"%%u\" }\n"
	       "domain \"a.example\" { service = a }\ndirectory { path = \"%s/new/db\" }\n",
	 "", -1}, /* who may lead him to a user */
	{RIGHT "service a { kind = mbox path = \"%s/nowhere/%%u\" user = \"%%u\" }\n",
	 "t:7: service a.path: %s/nowhere: No such file or directory; mail waits until it is there",
	 MACHINE_FAULT},
	{RIGHT "service a { kind = mbox path = \"%s/there/%%u\" user = \"%%u\" }\n",
	 "t:7: service a.path: %s/there is no directory", MACHINE_FAULT},
	{RIGHT "service a { kind = mbox path = \"/usr/%%u\" user = \"%%u\" }\n",
	 "t:7: warning: service a.path: /usr has mode 0755: no group but root's may make lock "
	 "files there, so mail for users waits; /var/mail has group mail and mode 2775",
	 MACHINE_WARNING},
	{RIGHT "service a { kind = mbox path = \"/tmp/%%u\" user = \"%%u\" }\n", "", -1},
	{RIGHT "directory { path = \"%s/a/b/db\" }\n",
	 "t:7: directory.path: %s/a/b cannot be made: there is no %s/a", MACHINE_FATAL},
	{RIGHT "directory { path = \"%s/there/db\" }\n",
	 "t:7: directory.path: %s/there is no directory", MACHINE_FATAL},
	/* what servers are verified by, where they are */
	{RIGHT "tls_authorities = \"%s/nowhere\"\nremote_tls = encrypt\n", "", -1},
	{RIGHT "tls_authorities = \"%s/nowhere\"\nremote_tls = verify\n",
	 "t:7: tls_authorities: %s/nowhere: No such file or directory", MACHINE_FAULT},
	{RIGHT "tls_authorities = \"%s/nowhere\"\ntls \"a.example\" { level = secure }\n",
	 "t:7: tls_authorities: %s/nowhere: No such file or directory", MACHINE_FAULT},
	{RIGHT "tls_authorities = \"%s/nowhere\"\n"
	       "tls \"a.example\" { level = secure  authority = \"%s/there\" }\n",
	 "t:8: tls a.example.authority: %s/there: it holds no certificate in PEM form",
	 MACHINE_FAULT},
	{RIGHT "tls \"a.example\" { level = verify  authority = \"%s/nowhere\" }\n",
	 "t:7: tls a.example.authority: %s/nowhere: No such file or directory", MACHINE_FAULT},
	{RIGHT "service a { kind = lmtp address = \"127.0.0.1:24\" tls = verify "
	       "authority = \"%s/nowhere\" }\n",
	 "t:7: service a.authority: %s/nowhere: No such file or directory", MACHINE_FAULT},
	{RIGHT IMAP("%s/there", ""), "", -1},
	{RIGHT IMAP("%s/nowhere", ""),
	 "t:7: service a.password_file: %s/nowhere: No such file or directory", MACHINE_FAULT},
	{RIGHT IMAP("%s/there", "authority = \"%s/nowhere\""),
	 "t:7: service a.authority: %s/nowhere: No such file or directory", MACHINE_FAULT},
	{RIGHT IMAP("%s/there", "") "record { backend = mariadb database = \"a\" password_file = "
				    "\"%s/nowhere\" }\n",
	 "t:8: record.password_file: %s/nowhere: No such file or directory", MACHINE_FAULT},
};

struct heard {
	struct buffer lines;
	int worst;
};

static void hear(void *context, const struct machine_finding *finding)
{
	struct heard *heard = context;

	buffer_append_string(&heard->lines, finding->text);
	buffer_append_byte(&heard->lines, '\n');
	if ((int)finding->severity > heard->worst)
		heard->worst = (int)finding->severity;
}

/* TEXT with the scratch directory for each %s. */
static void fill(const char *text, struct buffer *out)
{
	for (; *text != '\0'; text++) {
		if (text[0] == '%' && text[1] == 's')
			buffer_append_string(out, folder);
		else
			buffer_append_byte(out, *text);
		if (text[0] == '%')
			text++;
	}
	buffer_append_byte(out, '\0');
}

static int check(const char *text, struct heard *heard)
{
	struct config_problems problems = {0};
	struct buffer filled = {0};
	struct config *config = NULL;
	struct str whole;
	int worst;

	fill(text, &filled);
	whole = str_from(buffer_data(&filled));
	assert_int_equal(config_parse("t", whole, &config, &problems), 0);
	worst = machine_check(config, whole, true, hear, heard);
	assert_int_equal(worst, heard->worst);
	config_free(config);
	config_problems_clear(&problems);
	buffer_clear(&filled);
	buffer_append_byte(&heard->lines, '\0');
	return worst;
}

static void check_row(const struct row *row)
{
	struct heard heard = {.worst = -1};
	struct buffer line = {0};

	fill(row->line, &line);
	if (check(row->text, &heard) != row->worst ||
	    strstr(buffer_data(&heard.lines), buffer_data(&line)) == NULL)
		fail_msg("%s\nwants %d %s\nand has %d %s", row->text, row->worst,
			 buffer_data(&line), heard.worst, buffer_data(&heard.lines));
	if (row->worst == -1)
		assert_string_equal(buffer_data(&heard.lines), "");
	buffer_clear(&line);
	buffer_clear(&heard.lines);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		check_row(&rows[i]);
}

/* As root they would be become; another user serves as himself. */
static void test_users_of_processes(void **state)
{
	struct row row = {RIGHT "process smtpd { user = \"nobody-there\" }\n",
			  "t:7: process smtpd.user: there is no user nobody-there on this machine",
			  os_process_is_root() ? MACHINE_FATAL : MACHINE_FAULT};

	(void)state;
	check_row(&row);
}

/* Without "queue_unsafe", on a file system that forgets. */
static void test_place_of_the_queue(void **state)
{
	struct heard heard = {.worst = -1};

	(void)state;
	if (access("/dev/shm", W_OK) != 0)
		skip();
	assert_int_equal(check("hostname = \"mx.example.org\"\nuser = \"\"\n"
			       "queue = \"/dev/shm\"\nrun = \"%s/run\"\n" LISTEN,
			       &heard),
			 MACHINE_FATAL);
	assert_non_null(strstr(buffer_data(&heard.lines), "t:3: queue: /dev/shm: "));
	buffer_clear(&heard.lines);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_users_of_processes),
		cmocka_unit_test(test_place_of_the_queue),
	};
	char path[SCRATCH_SIZE + 16];
	FILE *file;
	int failed;

	if (scratch_make(folder) < 0)
		return 1;
	snprintf(path, sizeof path, "%s/there", folder);
	file = fopen(path, "w");
	if (file == NULL || fclose(file) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_remove(folder);
	return failed;
}
