// SPDX-License-Identifier: ISC
/* qmtpd - QMTP and QMQP servers. */
#include "program/kind/door.h"

static uint32_t number_of_qmtpd_processes(const struct config *config)
{
	(void)config;
	return 1;
}

static int start_qmtpd_process(struct child *child)
{
	static const struct door_kind kind = {"qmtp", &intake_engine_qmtp, config_is_qmtp,
					      number_of_qmtpd_processes};

	return door_start(child, &kind);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {
		.name = "qmtpd",
		.open = door_open,
		.start = start_qmtpd_process,
		.reload = door_reload,
		.stop = door_stop,
		.hurry = door_hurry,
	};

	return child_main(argc, argv, &program);
}
