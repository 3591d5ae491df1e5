// SPDX-License-Identifier: ISC
/*
 * Tokens by which processes authenticate to each other: helpers present theirs to "send", "pipe"
 * its own also to "launch", "send" and "noded" theirs to "queue", "noded" its own also to "send",
 * and "mailbox" its own to "decode". The process that checks a token gets it before the one that
 * presents it is started, so that it knows it when that connects.
 */
#include "ipc/pack.h"
#include "supervisor/internal.h"
#include <string.h>

static const struct {
	const char *program;
	const char *believer;
} holders[] = {
	{"resolve", "send"},   {"remote", "send"},  {"lmtp", "send"},     {"local", "send"},
	{"pipe", "send"},      {"list", "send"},    {"send", "queue"},    {"pipe", "launch"},
	{"mailbox", "decode"}, {"mailbox", "send"}, {"handover", "send"}, {"noded", "queue"},
	{"noded", "send"},
};

static bool has_token(const char *program)
{
	for (size_t i = 0; i < COUNT_OF(holders); i++)
		if (strcmp(holders[i].program, program) == 0)
			return true;
	return false;
}

static bool believes_token_of_program(const char *believer, const char *program)
{
	for (size_t i = 0; i < COUNT_OF(holders); i++)
		if (strcmp(holders[i].believer, believer) == 0 &&
		    strcmp(holders[i].program, program) == 0)
			return true;
	return false;
}

/* A retired process has authenticated already, and will not again. */
static bool needs_token_of_process(const struct process *process, const struct process *holder)
{
	if (holder->token.text[0] == '\0')
		return false;
	return holder == process ||
	       (believes_token_of_program(process->program->name, holder->program->name) &&
		!holder->is_retired);
}

void supervisor_send_tokens(struct process *process)
{
	const struct supervisor *supervisor = process->supervisor;
	struct buffer body CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < supervisor->process_count; i++) {
		const struct process *holder = &supervisor->processes[i];

		if (!needs_token_of_process(process, holder))
			continue;
		pack_str(&body, str_from(holder->program->name));
		pack_str(&body, str_from(holder->token.text));
	}
	if (process->control != NULL && body.length > 0)
		ipc_channel_send(process->control, CHILD_TOKENS, 0, buffer_view(&body), NULL, 0);
}

void supervisor_renew_token(struct process *process)
{
	struct supervisor *supervisor = process->supervisor;

	if (!has_token(process->program->name))
		return;
	ipc_token_make(process->program->name, &process->token);
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (believes_token_of_program(supervisor->processes[i].program->name,
					      process->program->name))
			supervisor_send_tokens(&supervisor->processes[i]);
}
