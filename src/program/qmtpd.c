// SPDX-License-Identifier: ISC
/* qmtpd - QMTP and QMQP servers. */
#include "program/kind/mail_server.h"

static uint32_t number_of_qmtpd_processes(const struct config *config)
{
	(void)config;
	return 1;
}

static int start_qmtpd_process(struct child *child)
{
	static const struct mail_server_kind kind = {"qmtp", &intake_engine_qmtp, config_is_qmtp,
						     number_of_qmtpd_processes};

	return mail_server_start(child, &kind);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {
		.name = "qmtpd",
		.open = mail_server_open,
		.start = start_qmtpd_process,
		.reload = mail_server_reload,
		.stop = mail_server_stop,
		.hurry = mail_server_hurry,
	};

	return child_main(argc, argv, &program);
}
