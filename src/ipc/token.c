// SPDX-License-Identifier: ISC
#include "ipc/token.h"
#include "os/random.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ipc_token_make(const char *program, struct ipc_token *token_out)
{
	snprintf(token_out->program, sizeof token_out->program, "%s", program);
	snprintf(token_out->text, sizeof token_out->text, "%s-%016" PRIx64 "%016" PRIx64,
		 token_out->program, os_random_u64(), os_random_u64());
}

bool ipc_tokens_add(struct ipc_tokens *tokens, struct str program, struct str text)
{
	struct ipc_token *token = &tokens->items[tokens->count];

	if (tokens->count == IPC_TOKENS_MAX || program.length >= sizeof token->program ||
	    text.length >= sizeof token->text)
		return false;
	*token = (struct ipc_token){0};
	memcpy(token->program, program.data, program.length);
	memcpy(token->text, text.data, text.length);
	tokens->count++;
	return true;
}

struct str ipc_tokens_find(const struct ipc_tokens *tokens, const char *program)
{
	for (size_t i = 0; i < tokens->count; i++)
		if (strcmp(tokens->items[i].program, program) == 0)
			return str_from(tokens->items[i].text);
	return STR("");
}

static bool is_same_token(const char *token, struct str text)
{
	unsigned char difference = 0;

	if (text.length == 0 || text.length != strlen(token))
		return false;
	for (size_t i = 0; i < text.length; i++)
		difference |= (unsigned char)(token[i] ^ text.data[i]);
	return difference == 0;
}

bool ipc_tokens_match(const struct ipc_tokens *tokens, const char *program, struct str text)
{
	bool is_found = false;

	for (size_t i = 0; i < tokens->count; i++)
		if (strcmp(tokens->items[i].program, program) == 0)
			is_found |= is_same_token(tokens->items[i].text, text);
	return is_found;
}
