// SPDX-License-Identifier: ISC
#include "rights_scene.h"
#include "base/buffer.h"
#include "config/text.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *const rights_scene_programs[RIGHTS_SCENE_PROGRAMS] = {
	"stagepost",
	"smtpd",
	"qmtpd",
	"queue",
	"send",
	"resolve",
	"list",
	"names",
	"keys",
	"auth",
	"auth-ldap",
	"policy",
	"decode",
	"remote",
	"lmtp",
	"local",
	"mailbox",
	"mailbox-postgresql",
	"mailbox-mariadb",
	"pipe",
	"launch",
	"directory",
	"directory-ldap",
	"directory-postgresql",
	"cat",
	"stranger",
};

struct rights_scene rights_scene;

const struct os_inspect_socket *
find_socket(const struct os_inspect_sockets *all,
	    uint64_t number) __asm__("__wrap_os_inspect_sockets_find");

const struct os_inspect_socket *find_socket(const struct os_inspect_sockets *all, uint64_t number)
{
	(void)all;
	return number > 0 && number <= COUNT_OF(rights_scene.sockets) &&
			       rights_scene.sockets[number - 1].number == number
		       ? &rights_scene.sockets[number - 1]
		       : NULL;
}

/* "@" is the folder. */
static const char configuration[] =
	"hostname = mx.test\nuser = \"\"\nqueue = \"@/queue\"\nrun = \"@/run\"\n"
	"policy_path = \"@/policy\"\ntls_authorities = \"@/ca/all.pem\"\n"
	"listen smtp { address = { \"127.0.0.1:25\", \"[::1]:25\", \"unix:@/smtp\" } }\n"
	"listen smtp { address = { \"0.0.0.0:26\", \"[::]:27\" } }\n"
	"listen qmtp { address = { \"127.0.0.1:28\" } }\n"
	"service box { kind = maildir path = \"@/mail/%d/%u\" }\n"
	"service once { kind = mailbox path = \"@/once/%d/%u\" }\n"
	"record { path = \"@/record/record.sqlite\" }\n"
	"directory { path = \"@/data/directory.sqlite\" "
	"socketmap = { \"127.0.0.1:29\", \"unix:@/map\" } }\n";

static void make_folders(void)
{
	static const char *const folders[] = {"queue", "run",  "policy", "ca",
					      "mail",  "once", "record", "data"};
	char path[SCRATCH_SIZE + 20];

	assert_int_equal(scratch_make(rights_scene.root), 0);
	for (size_t i = 0; i < COUNT_OF(folders); i++) {
		snprintf(path, sizeof path, "%s/%s", rights_scene.root, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
}

static void make_config(void)
{
	struct config_problems problems;
	struct buffer text CLEANUP(buffer_clear) = {0};

	for (const char *at = configuration; *at != '\0'; at++)
		if (*at == '@')
			buffer_append_string(&text, rights_scene.root);
		else
			buffer_append_byte(&text, *at);
	if (config_parse("t", buffer_view(&text), &rights_scene.config, &problems) != 0)
		fail_msg("%s: %s", problems.first->setting, problems.first->message);
	config_problems_clear(&problems);
}

void rights_scene_make_node(void)
{
	memset(rights_scene.sockets, 0, sizeof rights_scene.sockets);
	rights_scene.node =
		(struct node){.processes = rights_scene.processes, .count = RIGHTS_SCENE_PROGRAMS};
	for (size_t i = 0; i < RIGHTS_SCENE_PROGRAMS; i++) {
		struct node_process *process = &rights_scene.processes[i];

		snprintf(rights_scene.paths[i], sizeof rights_scene.paths[i], "/libexec/%s",
			 rights_scene_programs[i]);
		*process = (struct node_process){
			.pid = (pid_t)(SUPERVISOR_PID + i),
			.program = rights_scene_programs[i],
			.path = rights_scene.paths[i],
			.rights = rights_find(rights_scene_programs[i]),
			.parent = i == 0 ? NULL : &rights_scene.processes[0],
			.descriptors = rights_scene.descriptors[i],
		};
		for (size_t j = 0; j < 4; j++) {
			process->status.users[j] = USER;
			process->status.groups[j] = GROUP;
		}
		process->status.may_not_gain = true;
		process->status.seccomp = 2;
		process->status.filters = 2;
	}
	rights_scene.processes[0].status.filters = 1;
	rights_scene.processes[0].status.others[0] = GROUP + 2;
	rights_scene.processes[0].status.other_count = 1;
	rights_scene.processes[RIGHTS_SCENE_CAT].parent =
		&rights_scene.processes[RIGHTS_SCENE_LAUNCH];
	rights_scene.processes[RIGHTS_SCENE_STRANGER].error = -EACCES;
}

int rights_scene_set_up(void **state)
{
	(void)state;
	make_folders();
	make_config();
	return 0;
}

int rights_scene_tear_down(void **state)
{
	(void)state;
	config_free(rights_scene.config);
	return scratch_remove(rights_scene.root);
}

void rights_scene_give(size_t program, const char *target, unsigned flags, uint64_t socket,
		       int number)
{
	struct node_process *process = &rights_scene.processes[program];

	assert_true(process->count < DESCRIPTORS_MAX);
	process->descriptors[process->count++] =
		(struct node_descriptor){number, flags, target, socket};
}

const char *const rights_scene_changes[CHANGES] = {
	[REAL_USER] = "another real user",
	[EFFECTIVE_GROUP] = "another effective group",
	[FILE_USER] = "another user for files",
	[OTHER_GROUP] = "another supplementary group",
	[OWN_GROUP] = "its own group as a supplementary one",
	[MANY_GROUPS] = "more groups than can be seen",
	[CAPABILITY + OS_INSPECT_INHERITABLE] = "inheritable capabilities",
	[CAPABILITY + OS_INSPECT_PERMITTED] = "permitted capabilities",
	[CAPABILITY + OS_INSPECT_EFFECTIVE] = "effective capabilities",
	[CAPABILITY + OS_INSPECT_BOUNDING] = "bounding capabilities",
	[CAPABILITY + OS_INSPECT_AMBIENT] = "ambient capabilities",
	[MAY_GAIN] = "it may gain rights",
	[NO_FILTER] = "no filter",
	[INHERITED_FILTER] = "the supervisor's filter only",
	[UNKNOWN_FILTERS] = "an unknown number of filters",
	[DUMPABLE] = "it may be traced",
	[OTHER_PLACE] = "it is in another folder",
	[PACKAGED_PLACE] = "it is in the folder of programs",
};

void rights_scene_change(struct node_process *process, unsigned change)
{
	static const char *const words[] = {"/other/place/", "/usr/libexec/stagepost/"};
	struct os_inspect_status *status = &process->status;

	switch (change) {
	case REAL_USER:
	case FILE_USER:
		status->users[change == REAL_USER ? 0 : 3] = USER + 1;
		break;
	case EFFECTIVE_GROUP:
		status->groups[1] = GROUP + 1;
		break;
	case OTHER_GROUP:
	case OWN_GROUP:
		status->others[status->other_count++] = change == OWN_GROUP ? GROUP : GROUP + 1;
		break;
	case MANY_GROUPS:
		for (size_t i = 0; i < OS_INSPECT_GROUPS_MAX; i++)
			status->others[i] = GROUP;
		status->other_count = OS_INSPECT_GROUPS_MAX + 1;
		break;
	case MAY_GAIN:
		status->may_not_gain = false;
		break;
	case NO_FILTER:
		status->seccomp = 1;
		break;
	case INHERITED_FILTER:
	case UNKNOWN_FILTERS:
		status->filters = change == INHERITED_FILTER ? 1 : 0;
		break;
	case DUMPABLE:
		status->may_be_trapped = true;
		break;
	case OTHER_PLACE:
	case PACKAGED_PLACE:
		snprintf(rights_scene.paths[process - rights_scene.processes],
			 sizeof rights_scene.paths[0], "%s%s", words[change - OTHER_PLACE],
			 process->program);
		break;
	default:
		status->capabilities[change - CAPABILITY] = 0xff;
	}
}
