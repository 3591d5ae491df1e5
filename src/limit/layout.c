// SPDX-License-Identifier: ISC
#include "limit/layout.h"
#include "limit/client.h"
#include "limit/count.h"
#include "limit/rate.h"

struct limit_layout limit_layout_of(const struct config *config)
{
	struct limit_layout layout = {.count = 0};

	if (config->class_count > 0)
		limit_layout_add(&layout, LIMIT_AREA_SESSIONS, limit_count_area_size(), true);
	limit_layout_add(&layout, LIMIT_AREA_RATES, (uint32_t)limit_rates_area_size(config), false);
	limit_layout_add(&layout, LIMIT_AREA_CLIENTS, limit_clients_area_size(config), false);
	return layout;
}
