// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_login.c - the client's side of each mechanism with a server that says what the
 * fuzzer likes. The first byte chooses the mechanism; a zero byte is the end of a challenge; "~" in
 * one is the client's nonce, which a server has to repeat.
 */
#include "auth/login/exchange.h"
#include "base/panic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct login_choice choices[] = {{"SCRAM-SHA-256", LOGIN_NOT_OFFERED},
					      {"SCRAM-SHA-1-PLUS", LOGIN_BOUND},
					      {"PLAIN", LOGIN_UNBOUND},
					      {"LOGIN", LOGIN_UNBOUND}};
static const struct login_setup setup = {.user = "ann",
					 .password = "sesame",
					 .nonce = STR("0123456789abcdef"),
					 .binding = "tls-exporter",
					 .binding_data = STR("0123456789abcdef")};

static struct str nonce_of(struct str message)
{
	struct str field;

	while (str_split(&message, ',', &field))
		if (str_starts_with(field, STR("r=")))
			return str_skip(field, 2);
	return STR("");
}

static void put_nonce_in(struct str text, struct str nonce, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '~')
			buffer_append_str(out, nonce);
		else
			buffer_append_byte(out, text.data[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_slice((const char *)data, size);
	struct buffer challenge = {0};
	struct buffer response = {0};
	struct buffer first = {0};
	struct login_exchange *exchange;
	struct str turn;
	bool is_scram;

	if (size == 0)
		return 0;
	is_scram = data[0] % 4 < 2;
	exchange = login_exchange_new(&choices[data[0] % 4], &setup);
	if (login_exchange_step(exchange, STR(""), &first) != NULL)
		panic("no first message");
	rest = str_skip(rest, 1);
	while (rest.length > 0 && str_split(&rest, '\0', &turn)) {
		buffer_reset(&challenge);
		buffer_reset(&response);
		put_nonce_in(turn, nonce_of(buffer_view(&first)), &challenge);
		if (login_exchange_step(exchange, buffer_view(&challenge), &response) != NULL)
			break;
	}
	/* nobody finds the proof without the password */
	if (is_scram && login_exchange_is_complete(exchange))
		panic("a server that knows nothing was believed");
	buffer_clear(&first);
	buffer_clear(&challenge);
	buffer_clear(&response);
	login_exchange_free(exchange);
	return 0;
}
