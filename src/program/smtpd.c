// SPDX-License-Identifier: ISC
/* smtpd - SMTP and submission servers. */
#include "program/kind/door.h"

static bool serves(const struct config_listen *listen)
{
	return !config_is_qmtp(listen);
}

static uint32_t count(const struct config *config)
{
	return config->smtpd_workers;
}

static int start(struct child *child)
{
	static const struct door_kind kind = {"listen", &intake_engine_smtp, serves, count};

	return door_start(child, &kind);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {
		.name = "smtpd",
		.open = door_open,
		.start = start,
		.reload = door_reload,
		.stop = door_stop,
		.hurry = door_hurry,
	};

	return child_main(argc, argv, &program);
}
