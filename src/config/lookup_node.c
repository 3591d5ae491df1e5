// SPDX-License-Identifier: ISC
/* Queries on a configuration: what other nodes do. */
#include "config/config.h"
#include <string.h>

const char *config_node_name(const struct config *config)
{
	return config->node.name != NULL && *config->node.name != '\0' ? config->node.name
								       : config->hostname;
}

static const char *or_none(const char *group)
{
	return group != NULL ? group : "";
}

const char *config_transport_nodes(const struct config *config, const char *transport)
{
	const struct config_service *service = config_service_find(config, str_from(transport));
	enum mail_stage stage;

	if (service != NULL)
		return or_none(service->nodes);
	if (mail_stage_parse(str_from(transport), &stage))
		return or_none(config->stages[stage].nodes);
	if (strcmp(transport, "remote") == 0)
		return or_none(config_transport_find(config, STR("remote"))->nodes);
	return "";
}

bool config_hands_over(const struct config *config)
{
	for (size_t i = 0; i < config->transport_count; i++)
		if (*config_transport_nodes(config, config->transports[i].name) != '\0')
			return true;
	return false;
}

bool config_takes_over(const struct config *config)
{
	return config->node.listen_count > 0;
}

bool config_has_nodes(const struct config *config)
{
	return config_hands_over(config) || config_takes_over(config);
}
