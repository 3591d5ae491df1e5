// SPDX-License-Identifier: ISC
#include "auth/login/exchange.h"
#include "auth/login/internal.h"
#include "base/panic.h"
#include <stdlib.h>
#include <string.h>

struct login_exchange *login_exchange_new(const struct login_choice *choice,
					  const struct login_setup *setup)
{
	struct login_exchange *exchange = memory_alloc_zero(1, sizeof *exchange);

	exchange->mechanism = login_mechanism_find(str_from(choice->mechanism));
	if (exchange->mechanism == NULL)
		panic("unknown mechanism %s", choice->mechanism);
	exchange->password.is_secret = true;
	buffer_append_string(&exchange->user, setup->user);
	buffer_append_string(&exchange->password, setup->password);
	if (exchange->mechanism->digest != NULL)
		login_scram_prepare(exchange, choice->flag, setup);
	return exchange;
}

void login_exchange_free(struct login_exchange *exchange)
{
	if (exchange == NULL)
		return;
	buffer_clear(&exchange->user);
	buffer_clear(&exchange->password);
	buffer_clear(&exchange->nonce);
	buffer_clear(&exchange->header);
	buffer_clear(&exchange->conversation);
	free(exchange);
}

const char *login_exchange_step(struct login_exchange *exchange, struct str challenge,
				struct buffer *response)
{
	const struct login_mechanism *mechanism = exchange->mechanism;

	if (exchange->is_complete || exchange->step == COUNT_OF(mechanism->steps) ||
	    mechanism->steps[exchange->step] == NULL)
		return "it goes on after the end";
	return mechanism->steps[exchange->step++](exchange, challenge, response);
}

bool login_exchange_is_complete(const struct login_exchange *exchange)
{
	return exchange->is_complete;
}
