// SPDX-License-Identifier: ISC
/* What a configuration says of the clients of a session whose settings are the test's own structs.
 */
#include "config/config.h"
#include "intake_scene.h"

bool config_may_relay(const struct config *config, const struct in6_addr *address)
{
	(void)config;
	(void)address;
	return intake_scene.may_relay;
}

bool config_admits(const struct config_listen *listen, const struct in6_addr *address)
{
	(void)listen;
	(void)address;
	return true;
}

bool config_has_mail_user(const struct config *config, uid_t uid)
{
	(void)config;
	return uid != 0;
}

bool config_may_etrn(const struct config *config, const struct in6_addr *address)
{
	(void)config;
	(void)address;
	return false;
}

bool config_may_xclient(const struct config *config, const struct in6_addr *address)
{
	(void)config;
	(void)address;
	return false;
}

bool config_may_xforward(const struct config *config, const struct in6_addr *address)
{
	(void)config;
	(void)address;
	return false;
}

bool config_is_own_address(const struct config *config, const struct in6_addr *address)
{
	(void)config;
	(void)address;
	return false;
}

bool config_is_proxy(const struct config *config, const struct in6_addr *address)
{
	(void)config;
	(void)address;
	return true;
}

const char *config_protocol_name(enum config_protocol protocol)
{
	(void)protocol;
	return "smtp";
}
