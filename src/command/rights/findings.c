// SPDX-License-Identifier: ISC
/* The findings of a check. */
#include "base/arena.h"
#include "base/panic.h"
#include "command/rights/check.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void rights_findings_init(struct rights_findings *findings)
{
	*findings = (struct rights_findings){.arena = arena_new()};
}

void rights_findings_clear(struct rights_findings *findings)
{
	arena_free(findings->arena);
	free(findings->list);
	*findings = (struct rights_findings){0};
}

void rights_report(const struct rights_check *check, const char *allowed, const char *format, ...)
{
	struct rights_findings *findings = check->findings;
	struct buffer text CLEANUP(buffer_clear) = {0};
	va_list arguments;

	va_start(arguments, format);
	buffer_append_format_list(&text, format, arguments);
	va_end(arguments);
	findings->list = memory_grow(findings->list, findings->count, &findings->size,
				     sizeof *findings->list);
	findings->list[findings->count++] = (struct rights_finding){
		.pid = check->process->pid,
		.program = arena_copy(findings->arena, str_from(check->process->program)),
		.found = arena_copy(findings->arena, buffer_view(&text)),
		.allowed = arena_copy(findings->arena, str_from(allowed)),
		.socket = check->socket,
	};
}

static bool has_finding(const struct rights_findings *findings, const struct rights_finding *wanted)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].pid == wanted->pid &&
		    findings->list[i].socket == wanted->socket &&
		    strcmp(findings->list[i].found, wanted->found) == 0)
			return true;
	return false;
}

void rights_findings_keep(struct rights_findings *findings, const struct rights_findings *others)
{
	size_t kept = 0;

	for (size_t i = 0; i < findings->count; i++)
		if (has_finding(others, &findings->list[i]))
			findings->list[kept++] = findings->list[i];
	findings->count = kept;
}
