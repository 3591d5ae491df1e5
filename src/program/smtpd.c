// SPDX-License-Identifier: ISC
/* smtpd - SMTP and submission servers. */
#include "program/kind/mail_server.h"

static bool is_smtp_listen(const struct config_listen *listen)
{
	return !config_is_qmtp(listen);
}

static uint32_t number_of_smtpd_workers(const struct config *config)
{
	return config->smtpd_workers;
}

static int start_smtpd_process(struct child *child)
{
	static const struct mail_server_kind kind = {"listen", &intake_engine_smtp, is_smtp_listen,
						     number_of_smtpd_workers};

	return mail_server_start(child, &kind);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {
		.name = "smtpd",
		.open = mail_server_open,
		.start = start_smtpd_process,
		.reload = mail_server_reload,
		.stop = mail_server_stop,
		.hurry = mail_server_hurry,
	};

	return child_main(argc, argv, &program);
}
