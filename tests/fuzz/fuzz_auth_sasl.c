// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_auth_sasl.c - clients of every mechanism.
 *
 * The first byte: the mechanism, and whether its binding was offered; then messages, and before
 * each question a byte for its answer.
 */
#include "auth/sasl/sasl.h"
#include "base/panic.h"
#include "input.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sasl_peer peer = {.exporter = STR("exporter"),
				      .end_point = STR("end point"),
				      .certificate_name = STR("ann@example.org"),
				      .nonce = STR("nonce")};

static void answer(struct sasl *sasl, unsigned choice)
{
	struct directory_scram keys = {.iterations = 4096, .salt_length = 16};
	bool asks_keys = sasl_state(sasl) == SASL_ASKS_KEYS;

	keys.key_length = choice & 4 ? 20 : 32;
	if (sasl_state(sasl) == SASL_ASKS_TOKEN && sasl_secret(sasl).length == 0)
		panic("a token of no length");
	if (sasl_state(sasl) == SASL_ASKS_PASSWORD &&
	    (sasl_secret(sasl).length == 0 || sasl_user(sasl).length == 0))
		panic("a question about nobody, or no password");
	sasl_answer(sasl, (enum sasl_finding)(choice % 4), STR("ann"), asks_keys ? &keys : NULL);
	if (sasl_secret(sasl).length > 0)
		panic("a secret that was judged is kept");
	if (choice % 4 != SASL_RIGHT && sasl_state(sasl) == SASL_ACCEPTED)
		panic("accepted, which nobody has said");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {str_slice((const char *)data, size)};
	unsigned first = input_byte(&input);
	struct sasl_peer with = peer;
	struct sasl *sasl;
	bool was_asked = false;

	with.is_binding_offered = (first & 0x80) != 0;
	sasl = sasl_new(&sasl_mechanisms[(first & 0x7f) % sasl_mechanism_count], &with);
	for (unsigned i = 0; i < 20 && sasl_state(sasl) < SASL_ACCEPTED; i++) {
		if (sasl_state(sasl) == SASL_WANTS_MESSAGE) {
			sasl_take(sasl, input_text(&input));
		} else {
			was_asked = true;
			answer(sasl, input_byte(&input));
		}
	}
	if (sasl_state(sasl) == SASL_ACCEPTED && (!was_asked || sasl_user(sasl).length == 0))
		panic("accepted without a question");
	if (sasl_state(sasl) == SASL_REFUSED && sasl_reason(sasl) == NULL)
		panic("refused without a reason");
	sasl_free(sasl);
	return 0;
}
