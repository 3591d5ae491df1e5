// SPDX-License-Identifier: ISC
/* Who writes a group of deliveries, with which group, and by what: all owners, kinds of mailboxes
 * and directories. Mailboxes and the system are played here. */
#include "deliver/local/writer.h"
#include "mailbox/mbox.h"
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { SELF = 77, COUNT = 3 };

static struct {
	int become;                 /* result of os_process_files_as() */
	int look;                   /* of os_file_info_at() */
	struct os_file_info info;   /* of the directory of mbox files */
	char looked_at[64];         /* "": nothing was looked at */
	struct os_process_user was; /* who was become */
	int as;                     /* how often somebody was, and is no more */
	unsigned maildirs, mboxes;  /* deliveries by each */
	enum maildir_sync sync;
	unsigned open; /* of either kind */
	uid_t mbox_owner;
} play;

int os_process_files_as(const struct os_process_user *user)
{
	play.was = *user;
	play.as += play.become == 0;
	return play.become;
}

void os_process_files_as_self(void)
{
	play.as--;
}

uid_t os_process_effective_user(void)
{
	return SELF;
}

int os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	assert_int_equal(directory, OS_FILE_HERE);
	snprintf(play.looked_at, sizeof play.looked_at, "%s", path);
	if (play.look == 0)
		*info_out = play.info;
	return play.look;
}

struct maildir *maildir_new(const char *host, enum maildir_sync sync)
{
	assert_string_equal(host, "mx.test");
	play.sync = sync;
	play.open++;
	return (struct maildir *)(void *)&play.maildirs;
}

void maildir_free(struct maildir *maildir)
{
	play.open -= maildir != NULL;
}

struct mbox *mbox_new(const char *host)
{
	assert_string_equal(host, "mx.test");
	play.open++;
	return (struct mbox *)(void *)&play.mboxes;
}

void mbox_free(struct mbox *mbox)
{
	play.open -= mbox != NULL;
}

static void store(struct maildir_delivery *deliveries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mail_verdict_set(&deliveries[i].verdict, "2.0.0", "stored");
}

void maildir_deliver_group(struct maildir *maildir, struct maildir_delivery *deliveries,
			   size_t count, const struct maildir_gate *gate)
{
	assert_ptr_equal(maildir, &play.maildirs);
	assert_null(gate);
	play.maildirs += (unsigned)count;
	store(deliveries, count);
}

void mbox_deliver_group(struct mbox *mbox, uid_t owner, struct maildir_delivery *deliveries,
			size_t count)
{
	assert_ptr_equal(mbox, &play.mboxes);
	play.mbox_owner = owner;
	play.mboxes += (unsigned)count;
	store(deliveries, count);
}

static const struct {
	const char *path;
	const char *base; /* NULL: there is more than one directory */
} paths[] = {
	{"/var/mail/%u", "/var/mail"}, {"/var/mail/%d/%u", NULL},
	{"/var/mail/%u/mbox", NULL},   {"/%u", NULL},
	{"/home/%u", "/home"},
};

/* The group of the directory into which only a group may write; never root's. */
static gid_t plain_group(const char *base, gid_t own)
{
	bool is_groups = (play.info.mode & S_IWGRP) != 0 && play.info.group != 0;

	return base != NULL && play.look == 0 && is_groups ? play.info.group : own;
}

static void check_group(const struct config_service *service, const struct os_process_user *owner,
			const char *base)
{
	const struct config config = {.hostname = "mx.test"};
	struct maildir_delivery deliveries[COUNT + 1] = {0};
	struct local_writer *writer = local_writer_new(&config, service);
	bool is_mbox = service->kind == CONFIG_SERVICE_MBOX;
	bool is_failed = owner->change && play.become < 0;
	unsigned stored = is_failed ? 0 : COUNT;

	play.mboxes = play.maildirs = 0;
	play.was = (struct os_process_user){0};
	play.looked_at[0] = '\0';
	local_writer_deliver(writer, owner, deliveries, COUNT);
	assert_int_equal(play.as, 0);
	assert_int_equal(play.mboxes, is_mbox ? stored : 0);
	assert_int_equal(play.maildirs, is_mbox ? 0 : stored);
	for (size_t i = 0; i < COUNT; i++)
		assert_string_equal(deliveries[i].verdict.status, is_failed ? "4.3.0" : "2.0.0");
	if (is_failed)
		assert_string_equal(
			deliveries[0].verdict.text,
			"Cannot deliver as the mailbox's owner: Operation not permitted");
	assert_string_equal(deliveries[COUNT].verdict.status, "");
	if (is_mbox && !is_failed)
		assert_int_equal(play.mbox_owner, owner->change ? owner->uid : SELF);
	assert_int_equal(play.was.change, owner->change);
	if (owner->change) {
		assert_int_equal(play.was.uid, owner->uid);
		assert_int_equal(play.was.gid, plain_group(is_mbox ? base : NULL, owner->gid));
		assert_string_equal(play.looked_at, is_mbox && base != NULL ? base : "");
	}
	local_writer_free(writer);
	assert_int_equal(play.open, 0);
}

static void who_writes_has_the_rights_for_it(void **state)
{
	static const gid_t groups[] = {0, 8};
	static const mode_t modes[] = {S_IFDIR | 0775, S_IFDIR | 0757};

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		for (size_t p = 0; p < COUNT_OF(paths); p++) {
			struct config_service service = {
				.path = paths[p].path,
				.kind = (i & 1) != 0 ? CONFIG_SERVICE_MBOX : CONFIG_SERVICE_MAILDIR,
			};
			const struct os_process_user owner = {
				.change = (i & 2) != 0, .uid = 1000, .gid = 1001};

			play.become = (i & 4) != 0 ? -EPERM : 0;
			play.look = (i & 8) != 0 ? -ENOENT : 0;
			play.info = (struct os_file_info){.group = groups[i >> 4 & 1],
							  .mode = modes[i >> 5]};
			check_group(&service, &owner, paths[p].base);
		}
}

static void files_are_made_durable_as_configured(void **state)
{
	static const enum maildir_sync wanted[] = {
		[CONFIG_SYNC_AUTO] = MAILDIR_SYNC_AUTO,
		[CONFIG_SYNC_FILES] = MAILDIR_SYNC_FILES,
		[CONFIG_SYNC_FILESYSTEM] = MAILDIR_SYNC_FILESYSTEM,
		[CONFIG_SYNC_ORDERED] = MAILDIR_SYNC_AUTO,
	};
	const struct config_service service = {.kind = CONFIG_SERVICE_MAILDIR, .path = "/m/%u"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		const struct config config = {.hostname = "mx.test",
					      .queue_sync = (enum config_sync)i};

		local_writer_free(local_writer_new(&config, &service));
		assert_int_equal(play.sync, wanted[i]);
	}
	local_writer_free(NULL);
	assert_int_equal(play.open, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_writes_has_the_rights_for_it),
		cmocka_unit_test(files_are_made_durable_as_configured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
