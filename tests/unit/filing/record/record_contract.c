// SPDX-License-Identifier: ISC
#include "record_contract.h"
#include "record_scene.h"

int record_contract_run(const struct record_contract *contract)
{
	int failed;

	record_scene_backend = contract;
	failed = record_contract_messages() + record_contract_bounds() + record_contract_filing() +
		 record_contract_group() + record_contract_model();
	if (!contract->is_played)
		failed += record_contract_race();
	return contract->server != NULL ? failed + record_contract_server() : failed;
}
