// SPDX-License-Identifier: ISC
#include "rights_scene.h"
#include "config/text.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct config *config;

int rights_scene_read_config(void **state)
{
	static const char text[] = "hostname = mx.test\n"
				   "queue = /var\n"
				   "run = /run\n"
				   "listen smtp { address = { \"127.0.0.1:2525\" } }\n"
				   "service maildir { kind = maildir path = \"/usr/%d/%u\" }\n"
				   "domain a.test { service = maildir }\n";
	struct config_problems problems = {0};

	(void)state;
	assert_int_equal(config_parse("test.conf", str_from(text), &config, &problems), 0);
	config_problems_clear(&problems);
	return 0;
}

int rights_scene_free_config(void **state)
{
	(void)state;
	config_free(config);
	return 0;
}

struct os_inspect_status rights_scene_status(uid_t user)
{
	return (struct os_inspect_status){
		.parent = 1,
		.users = {user, user, user, user},
		.groups = {user, user, user, user},
		.capabilities[OS_INSPECT_BOUNDING] = UINT64_MAX,
		.may_not_gain = true,
		.seccomp = 2,
		.filters = 1,
	};
}

void rights_scene_make(struct rights_scene *scene, const char *program)
{
	*scene = (struct rights_scene){0};
	scene->processes[0] = (struct node_process){
		.pid = 10, .program = "stagepost", .path = "/usr/bin/stagepost"};
	scene->processes[0].rights = rights_find("stagepost");
	scene->processes[0].status = rights_scene_status(RIGHTS_SCENE_USER);
	scene->processes[0].status.filters = 0;
	scene->processes[1] = (struct node_process){.pid = 11,
						    .program = program,
						    .path = "/usr/libexec/stagepost/x",
						    .parent = &scene->processes[0],
						    .descriptors = scene->descriptors};
	scene->processes[1].rights = rights_find(program);
	scene->processes[1].status = rights_scene_status(RIGHTS_SCENE_USER);
	scene->node.processes = scene->processes;
	scene->node.count = 2;
	assert_int_equal(os_inspect_sockets_new(getpid(), &scene->node.sockets), 0);
}

void rights_scene_expect(struct rights_scene *scene, const char *words)
{
	const struct rights_expected expected = {.config = config};
	struct rights_findings findings;

	rights_findings_init(&findings);
	rights_check(&scene->node, &expected, &findings);
	if (*words == '\0' && findings.count > 0)
		fail_msg("found: %s", findings.list[0].found);
	if (*words != '\0') {
		if (findings.count == 0)
			fail_msg("nothing is found, and not %s", words);
		if (strncmp(findings.list[0].found, words, strlen(words)) != 0)
			fail_msg("found: %s, and not %s", findings.list[0].found, words);
	}
	rights_findings_clear(&findings);
	os_inspect_sockets_free(scene->node.sockets);
}
