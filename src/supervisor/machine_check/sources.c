// SPDX-License-Identifier: ISC
/* Checks the sections source: does this machine have their addresses? */
#include "os/socket/address.h"
#include "os/socket/interface.h"
#include "supervisor/machine_check/internal.h"

static void check_source(struct machine_check *check, const struct config_source *source)
{
	for (size_t i = 0; i < source->address_count; i++) {
		char text[OS_SOCKET_TEXT_SIZE];

		if (os_interface_has(&source->addresses[i]))
			continue;
		os_socket_address_format_mapped(&source->addresses[i], text);
		machine_check_report(check, MACHINE_WARNING, "addresses",
				     "source %s: this machine does not have the address %s, which "
				     "is skipped until it does",
				     source->name, text);
	}
}

void machine_check_sources(struct machine_check *check)
{
	for (size_t i = 0; i < check->config->source_count; i++)
		check_source(check, &check->config->sources[i]);
}
