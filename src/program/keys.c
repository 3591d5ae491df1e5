// SPDX-License-Identifier: ISC
/* keys - has the private keys of certificates, and signs with them for the processes that speak
 * TLS; and the passwords of logins to relays, which it tells "remote". The only one that can read
 * the files of both; it has no network access. */
#include "keys/server.h"
#include "supervisor/child/child.h"

static void allow_users_of_keys(struct child *child, struct keys_server *server)
{
	const uid_t users[] = {child_user(child, "smtpd"), child_user(child, "qmtpd"),
			       child_user(child, "remote"), child_user(child, "lmtp"),
			       child_user(child, "directory"), child_user(child, "handover"),
			       child_user(child, "noded")};

	const uid_t acceptors[] = {child_user(child, "smtpd"), child_user(child, "qmtpd")};

	keys_server_set_users(server, users, COUNT_OF(users));
	keys_server_set_acceptors(server, acceptors, COUNT_OF(acceptors));
	keys_server_set_sender(server, child_user(child, "remote"));
}

static void report_key_problems(void *context, struct str problems)
{
	child_waits(context, problems);
}

static int start_keys_process(struct child *child)
{
	struct keys_server *server =
		keys_server_new(child->loop, child_socket(child, "keys"), child->config);

	child->state = server;
	allow_users_of_keys(child, server);
	keys_server_set_trouble(server, report_key_problems, child);
	child_ready(child);
	return 0;
}

static void reload_keys_process(struct child *child, const struct config *old)
{
	(void)old;
	keys_server_configure(child->state, child->config);
	allow_users_of_keys(child, child->state);
}

static void stop_keys_process(struct child *child)
{
	keys_server_free(child->state);
	os_loop_stop(child->loop);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"keys", NULL, start_keys_process,
						     reload_keys_process, stop_keys_process};

	return child_main(argc, argv, &program);
}
