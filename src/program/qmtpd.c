// SPDX-License-Identifier: ISC
/* qmtpd - QMTP and QMQP servers. */
#include "program/kind/door.h"

static uint32_t count(const struct config *config)
{
	(void)config;
	return 1;
}

static int start(struct child *child)
{
	static const struct door_kind kind = {"qmtp", &intake_engine_qmtp, config_is_qmtp, count};

	return door_start(child, &kind);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {
		.name = "qmtpd",
		.open = door_open,
		.start = start,
		.reload = door_reload,
		.stop = door_stop,
		.hurry = door_hurry,
	};

	return child_main(argc, argv, &program);
}
