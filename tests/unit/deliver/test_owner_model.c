// SPDX-License-Identifier: ISC
/* As whom mail is delivered: each service of each configuration, for each recipient, by a process
 * with each right, among a few accounts; against a plain second reading. */
#include "config/text.h"
#include "deliver/owner.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- the machine --- */

static const struct {
	const char *name;
	unsigned uid, gid;
} ACCOUNTS[] = {{"root", 0, 0},      {"sys", 5, 5},     {"super", 150, 150},
		{"node", 200, 200},  {"grp", 201, 200}, {"pipes", 202, 202},
		{"other", 203, 203}, {"svc", 300, 300}, {"ann", 1000, 1000}};

static struct {
	bool may_change;
	unsigned uid, gid;  /* of the process */
	bool lacks_run;     /* the run directory is gone */
	const char *hidden; /* an account that cannot be looked up */
} machine;

int __wrap_os_process_account_find(const char *name, struct os_process_account *out);
int __wrap_os_process_owner_of(const char *path, uid_t *owner_out);
bool __wrap_os_process_may_change_user(void);
uid_t __wrap_os_process_effective_user(void);
gid_t __wrap_os_process_effective_group(void);

int __wrap_os_process_account_find(const char *name, struct os_process_account *out)
{
	if (machine.hidden != NULL && strcmp(name, machine.hidden) == 0)
		return -EIO;
	for (size_t i = 0; i < COUNT_OF(ACCOUNTS); i++) {
		if (strcmp(name, ACCOUNTS[i].name) != 0)
			continue;
		*out = (struct os_process_account){
			.user = {.change = true, .uid = ACCOUNTS[i].uid, .gid = ACCOUNTS[i].gid}};
		snprintf(out->name, sizeof out->name, "%s", name);
		return 0;
	}
	return -ENOENT;
}

int __wrap_os_process_owner_of(const char *path, uid_t *owner_out)
{
	assert_string_equal(path, "/run/m");
	*owner_out = 150;
	return machine.lacks_run ? -ENOENT : 0;
}

bool __wrap_os_process_may_change_user(void)
{
	return machine.may_change;
}

uid_t __wrap_os_process_effective_user(void)
{
	return machine.uid;
}

gid_t __wrap_os_process_effective_group(void)
{
	return machine.gid;
}

/* --- a second reading --- */

enum { GONE = -1, HIDDEN = -2 };

static int account_of(const char *name)
{
	if (machine.hidden != NULL && strcmp(name, machine.hidden) == 0)
		return HIDDEN;
	for (int i = 0; i < (int)COUNT_OF(ACCOUNTS); i++)
		if (strcmp(name, ACCOUNTS[i].name) == 0)
			return i;
	return GONE;
}

/* The users of our processes, and the group of our sockets, are nobody's who runs programs. */
static bool refuse_program(const struct config *config, int account, char *out)
{
	const char *const ours[] = {config->user, "other", "pipes"};
	const unsigned uid = ACCOUNTS[account].uid;
	bool is_ours = uid == 150;
	int result = 0;

	if (machine.lacks_run)
		return sprintf(out, "4.3.0 Cannot look our own users up: %s", strerror(ENOENT)) > 0;
	for (size_t i = 0; !is_ours && result == 0 && i < COUNT_OF(ours); i++) {
		int one = *ours[i] == '\0' ? (int)COUNT_OF(ACCOUNTS) : account_of(ours[i]);

		if (one == GONE || one == HIDDEN)
			result = one == GONE ? ENOENT : EIO;
		else
			is_ours = one < (int)COUNT_OF(ACCOUNTS) && ACCOUNTS[one].uid == uid;
	}
	if (result != 0)
		return sprintf(out, "4.3.0 Cannot look our own users up: %s", strerror(result)) > 0;
	if (is_ours)
		return sprintf(out, "4.3.5 No program is run as %s, as whom we run ourselves",
			       ACCOUNTS[account].name) > 0;
	if (ACCOUNTS[account].gid !=
	    (*config->user == '\0' ? machine.gid : ACCOUNTS[account_of(config->user)].gid))
		return false;
	return sprintf(out, "4.3.5 No program is run as %s, whose group is that of our sockets",
		       ACCOUNTS[account].name) > 0;
}

/* Of "%u": whose address it is, if that user has mail. */
static int find_plain_recipient(const char *address, char *out)
{
	char name[100] = "";
	int account;

	sscanf(address, "%99[^@+]", name);
	str_lower(name, strlen(name));
	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL || strlen(name) > 63)
		return sprintf(out, "5.1.%c No user can have such a name",
			       name[0] == '\0' ? '3' : '1'),
		       GONE;
	account = account_of(name);
	if (account == GONE)
		sprintf(out, "5.1.1 No user is called %s", name);
	else if (account == HIDDEN)
		sprintf(out, "4.3.0 Cannot look the user up: %s", strerror(EIO));
	else if (ACCOUNTS[account].uid < 300 || ACCOUNTS[account].uid > 60000)
		sprintf(out, "5.1.1 %s is an account of the system, which has no mail of its own",
			name);
	else
		return account;
	return GONE;
}

static void find_plain_owner(const struct config *config, const struct config_service *service,
			     const char *address, char *out)
{
	bool is_pipe = service->kind == CONFIG_SERVICE_PIPE;
	const char *process = is_pipe ? "pipes" : config->user;
	const char *named = *service->user != '\0' ? service->user
			    : machine.may_change   ? process
						   : "";
	bool changes;
	int account = GONE;

	if (strcmp(named, "%u") == 0) {
		account = find_plain_recipient(address, out);
		if (account < 0)
			return;
	} else if (*named != '\0') {
		account = account_of(named);
		if (account < 0) {
			sprintf(out, "4.3.5 There is no user %s to deliver as", named);
			return;
		}
		if (ACCOUNTS[account].uid == 0 && machine.may_change) {
			sprintf(out, "4.3.5 Nothing is delivered as %s", named);
			return;
		}
	}
	changes = account >= 0 && (machine.may_change || ACCOUNTS[account].uid != machine.uid);
	if (changes && !machine.may_change) {
		sprintf(out, "4.3.5 Only when started by root can mail be delivered as %s",
			ACCOUNTS[account].name);
		return;
	}
	if (is_pipe && machine.may_change && account >= 0 && refuse_program(config, account, out))
		return;
	if (is_pipe && machine.may_change && account < 0) {
		strcpy(out, "4.3.5 No program is run as root, as whom we run ourselves");
		return;
	}
	sprintf(out, "ok %s%s%s", account >= 0 ? ACCOUNTS[account].name : "",
		changes ? " changed" : "",
		!is_pipe && strcmp(account >= 0 ? ACCOUNTS[account].name : "", process) == 0
			? " with groups"
			: "");
}

/* --- both --- */

static void check_owner(const struct config *config, const struct config_service *service,
			const char *address)
{
	struct os_process_account owner = {.name = "untouched"};
	struct mail_verdict why = {.status = ""};
	char wanted[300] = "", found[700];

	find_plain_owner(config, service, address, wanted);
	if (owner_find(config, service, str_from(address), &owner, &why))
		snprintf(found, sizeof found, "ok %s%s%s", owner.name,
			 owner.user.change ? " changed" : "",
			 owner.user.keeps_groups ? " with groups" : "");
	else
		snprintf(found, sizeof found, "%s %s", why.status, why.text);
	if (strcmp(found, wanted) != 0)
		fail_msg("as \"%s\" for %s, by %u%s, user \"%s\": \"%s\" and not \"%s\"",
			 service->user, address, machine.uid,
			 machine.may_change ? ", which may change" : "", config->user, found,
			 wanted);
	if (strncmp(wanted, "ok", 2) != 0)
		assert_string_equal(owner.name, "untouched");
}

static struct config *make_config(void)
{
	struct config_problems problems = {0};
	struct config *config = NULL;

	assert_int_equal(config_parse("t",
				      STR("hostname = mx.test\nrun = \"/run/m\"\n"
					  "service p { kind = pipe command = \"/bin/true\" user = nobody }\n"
					  "service m { kind = maildir path = \"/m/%u\" }\n"),
				      &config, &problems),
			 0);
	config_problems_clear(&problems);
	config->uid_min = 300;
	config->uid_max = 60000;
	for (size_t i = 0; i < CONFIG_PROCESSES; i++)
		if (strcmp(config->processes[i].name, "pipe") == 0)
			config->processes[i].user = "pipes";
		else if (strcmp(config->processes[i].name, "remote") == 0)
			config->processes[i].user = "other";
	return config;
}

static void each_service_for_each_recipient(void **state)
{
	static const char *const users[] = {"",    "%u",  "root",  "sys",   "super", "node",
					    "grp", "svc", "pipes", "other", "gone",  "ann"};
	static const char *const addresses[] = {
		"ann@a.test",
		"Ann+x@a.test",
		"sys@a.test",
		"root@a.test",
		"gone@a.test",
		"svc@a.test",
		".ann@a.test",
		"a/b@a.test",
		"@a.test",
		"a123456789012345678901234567890123456789012345678901234567890123@a.test",
		"a12345678901234567890123456789012345678901234567890123456789012@a.test"};
	static const char *const hidden[] = {NULL, "ann", "node", "svc", "other", "pipes"};
	static const struct {
		bool may_change;
		unsigned uid, gid;
	} processes[] = {{true, 0, 0},     {false, 300, 300}, {false, 200, 200},
			 {true, 200, 200}, {true, 300, 300},  {true, 0, 1000}};
	struct config *config = make_config();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(processes) * COUNT_OF(hidden) * 2 * 2; i++) {
		machine.may_change = processes[i % COUNT_OF(processes)].may_change;
		machine.uid = processes[i % COUNT_OF(processes)].uid;
		machine.gid = processes[i % COUNT_OF(processes)].gid;
		machine.hidden = hidden[i / COUNT_OF(processes) % COUNT_OF(hidden)];
		machine.lacks_run = i / COUNT_OF(processes) / COUNT_OF(hidden) % 2;
		config->user = i / COUNT_OF(processes) / COUNT_OF(hidden) / 2 ? "node" : "";
		for (size_t user = 0; user < COUNT_OF(users); user++)
			for (size_t to = 0; to < COUNT_OF(addresses); to++)
				for (size_t kind = 0; kind < 2; kind++) {
					struct config_service service = *config_service_find(
						config, kind ? STR("p") : STR("m"));

					service.user = users[user];
					check_owner(config, &service, addresses[to]);
				}
	}
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_service_for_each_recipient),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
