// SPDX-License-Identifier: ISC
/* What a transport of mailboxes passes to its two halves: what prepares messages, and what has
 * their turns. */
#include "deliver/mailbox/mailbox.h"
#include "deliver/mailbox/prepare.h"
#include "deliver/mailbox/turns.h"
#include "test.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char told[500];
static char prepare, turns, loop, config, service, job, entry;
static void (*on_ready)(void *context, struct mailbox_entry *entry);
static void *ready_context;

static void tell(const char *format, ...) PRINTF_LIKE(1, 2);

static void tell(const char *format, ...)
{
	size_t length = strlen(told);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(told + length, sizeof told - length, format, arguments);
	va_end(arguments);
	strcat(told, ";");
}

/* The name of what a pointer is. */
static const char *name_of(const void *of)
{
	return of == &prepare   ? "prepare"
	       : of == &turns   ? "turns"
	       : of == &loop    ? "loop"
	       : of == &config  ? "config"
	       : of == &service ? "service"
	       : of == &entry   ? "entry"
	       : of == &job     ? "job"
				: "?";
}

struct mailbox_prepare *
mailbox_prepare_new(const struct deliver_mailbox_peers *peers,
		    void (*ready)(void *context, struct mailbox_entry *entry), void *context)
{
	tell("new %s", name_of(peers->loop));
	on_ready = ready;
	ready_context = context;
	return (struct mailbox_prepare *)&prepare;
}

void mailbox_prepare_free(struct mailbox_prepare *of)
{
	tell("free %s", name_of(of));
}

void mailbox_prepare_configure(struct mailbox_prepare *of, const struct config *by,
			       const struct config_service *kind)
{
	tell("configure %s %s %s", name_of(of), name_of(by), name_of(kind));
}

void mailbox_prepare_start(struct mailbox_prepare *of, struct mailbox_entry *one)
{
	tell("start %s %s", name_of(of), name_of(one));
}

void mailbox_prepare_drop(struct mailbox_prepare *of)
{
	tell("drop %s", name_of(of));
}

struct mailbox_entry *mailbox_entry_new(struct deliver_helper_job *of)
{
	tell("entry of %s", name_of(of));
	return (struct mailbox_entry *)(void *)&entry;
}

struct mailbox_turns *mailbox_turns_new(struct os_loop *by)
{
	tell("turns by %s", name_of(by));
	return (struct mailbox_turns *)&turns;
}

void mailbox_turns_free(struct mailbox_turns *of)
{
	tell("free %s", name_of(of));
}

void mailbox_turns_configure(struct mailbox_turns *of, const struct config *by,
			     const struct config_service *kind)
{
	tell("configure %s %s %s", name_of(of), name_of(by), name_of(kind));
}

void mailbox_turns_add(struct mailbox_turns *of, struct mailbox_entry *one)
{
	tell("add %s %s", name_of(of), name_of(one));
}

void mailbox_turns_drain(struct mailbox_turns *of)
{
	tell("drain %s", name_of(of));
}

void mailbox_turns_lose(struct mailbox_turns *of)
{
	tell("lose %s", name_of(of));
}

static void expect(const char *wanted)
{
	assert_string_equal(told, wanted);
	told[0] = '\0';
}

/* No call goes to "turns" after it is freed, and what is being prepared is dropped before its end.
 */
static void a_life(void **state)
{
	const struct deliver_mailbox_peers peers = {.loop = (struct os_loop *)&loop};
	const struct config *by = (const struct config *)(const void *)&config;
	const struct config_service *kind = (const struct config_service *)(const void *)&service;
	struct deliver_mailbox *mailbox;

	(void)state;
	umask(0);
	mailbox = deliver_mailbox_new(&peers, by, kind);
	assert_int_equal(umask(0), 077); /* a Maildir's files are its user's alone */
	expect("new loop;turns by loop;configure prepare config service;"
	       "configure turns config service;");
	assert_ptr_equal(ready_context, mailbox);
	deliver_mailbox_start(mailbox, (struct deliver_helper_job *)(void *)&job);
	expect("entry of job;start prepare entry;");
	on_ready(ready_context, (struct mailbox_entry *)(void *)&entry);
	expect("add turns entry;");
	deliver_mailbox_configure(mailbox, by, kind);
	expect("configure prepare config service;configure turns config service;");
	deliver_mailbox_lost(mailbox);
	expect("lose turns;drop prepare;");
	deliver_mailbox_drain(mailbox);
	expect("drain turns;drop prepare;");
	deliver_mailbox_free(mailbox);
	expect("free turns;drop prepare;free prepare;");
	deliver_mailbox_free(NULL);
	expect("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
