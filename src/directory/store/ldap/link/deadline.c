// SPDX-License-Identifier: ISC
#include "directory/store/ldap/link/deadline.h"
#include "base/panic.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <lber.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	LEVEL = (LBER_SBIOD_LEVEL_PROVIDER + LBER_SBIOD_LEVEL_TRANSPORT) / 2,
	OPTION_UNTIL = 0x5350, /* of ber_sockbuf_ctrl(): our own; other layers pass it on */
};

struct deadline {
	int64_t until_us;
};

static int set_up_deadline_layer(Sockbuf_IO_Desc *layer, void *argument)
{
	layer->sbiod_pvt = argument;
	return 0;
}

static int remove_layer(Sockbuf_IO_Desc *layer)
{
	free(layer->sbiod_pvt);
	layer->sbiod_pvt = NULL;
	return 0;
}

static int control_deadline_layer(Sockbuf_IO_Desc *layer, int option, void *argument)
{
	struct deadline *deadline = layer->sbiod_pvt;

	if (option != OPTION_UNTIL)
		return LBER_SBIOD_CTRL_NEXT(layer, option, argument);
	deadline->until_us = *(const int64_t *)argument;
	return 1;
}

/* Waits until the socket is ready; false, with errno, if it is not. */
static bool wait_for_ldap_socket(Sockbuf_IO_Desc *layer, bool is_writing)
{
	const struct deadline *deadline = layer->sbiod_pvt;
	int64_t left_us = deadline->until_us - os_clock_monotonic_us();
	int socket = -1;
	int error;

	(void)ber_sockbuf_ctrl(layer->sbiod_sb, LBER_SB_OPT_GET_FD, &socket);
	error = os_socket_wait(socket, is_writing, left_us > 0 ? left_us : 0);
	if (error == 0)
		return true;
	errno = -error;
	return false;
}

static ber_slen_t read_some_before_deadline(Sockbuf_IO_Desc *layer, void *data, ber_len_t length)
{
	return wait_for_ldap_socket(layer, false) ? LBER_SBIOD_READ_NEXT(layer, data, length) : -1;
}

static ber_slen_t write_some(Sockbuf_IO_Desc *layer, void *data, ber_len_t length)
{
	return wait_for_ldap_socket(layer, true) ? LBER_SBIOD_WRITE_NEXT(layer, data, length) : -1;
}

static int close_layer(Sockbuf_IO_Desc *layer)
{
	(void)layer;
	return 0;
}

int deadline_add(LDAP *ld)
{
	static Sockbuf_IO io = {set_up_deadline_layer,     remove_layer, control_deadline_layer,
				read_some_before_deadline, write_some,   close_layer};
	struct deadline *deadline = memory_alloc_zero(1, sizeof *deadline);
	Sockbuf *stream = NULL;

	if (ldap_get_option(ld, LDAP_OPT_SOCKBUF, &stream) == LDAP_OPT_SUCCESS && stream != NULL &&
	    ber_sockbuf_add_io(stream, &io, LEVEL, deadline) == 0)
		return LDAP_SUCCESS;
	free(deadline);
	return LDAP_LOCAL_ERROR;
}

void deadline_set(LDAP *ld, int64_t until_us)
{
	Sockbuf *stream = NULL;

	if (ldap_get_option(ld, LDAP_OPT_SOCKBUF, &stream) == LDAP_OPT_SUCCESS && stream != NULL)
		(void)ber_sockbuf_ctrl(stream, OPTION_UNTIL, &until_us);
}
