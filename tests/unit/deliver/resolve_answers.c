// SPDX-License-Identifier: ISC
#include "resolve_answers.h"
#include "queue/control/control.h"
#include <stdio.h>
#include <string.h>

enum { TARGETS = 700, NAME_LONG = 240 };

const char resolve_kinds[] = "lmrnufxwbt";

static void add_line(struct buffer *out, uint32_t recipient, enum queue_route route,
		     const char *service, const char *server, const char *address,
		     const char *verdict)
{
	buffer_append_format(out, "%u %d %s %s %s %s\n", recipient, (int)route, service, server,
			     address, verdict);
}

/* A long address, so that a question's targets need several messages. */
static void format_long(char *text, unsigned number)
{
	memset(text, 'a', NAME_LONG);
	snprintf(text + NAME_LONG - 12, 16, "%u@long.test", number % 10);
}

void resolve_add_wanted(struct buffer *out, uint32_t recipient, const char *address)
{
	char text[NAME_LONG + 16];

	switch (address[0]) {
	case 'l':
		add_line(out, recipient, QUEUE_ROUTE_LOCAL, "list", "", "list@a.test", " ");
		break;
	case 'm':
		add_line(out, recipient, QUEUE_ROUTE_LOCAL, "box", "srv", "box@a.test", " ");
		break;
	case 'r':
		add_line(out, recipient, QUEUE_ROUTE_REMOTE, "", "", "far@b.test", " ");
		add_line(out, recipient, QUEUE_ROUTE_REMOTE, "", "", address, " ");
		break;
	case 'n':
		add_line(out, recipient, QUEUE_ROUTE_NONE, "", "", "no@a.test", "5.7.1 is refused");
		add_line(out, recipient, QUEUE_ROUTE_LOCAL, "box", "", "yes@a.test", " ");
		break;
	case 'u':
		add_line(out, recipient, QUEUE_ROUTE_NONE, "", "", address, "4.3.5 why");
		break;
	case 'w':
		add_line(out, recipient, QUEUE_ROUTE_NONE, "", "", address, "4.4.3 away");
		break;
	case 'x':
		add_line(out, recipient, QUEUE_ROUTE_NONE, "", "", address, "5.1.1 no such user");
		break;
	case 't':
		for (unsigned i = 0; i < TARGETS; i++) {
			format_long(text, i);
			add_line(out, recipient, QUEUE_ROUTE_REMOTE, "", "", text, " ");
		}
		break;
	default:
		add_line(out, recipient, QUEUE_ROUTE_REMOTE, "", "", address, " ");
	}
}

uint64_t resolve_version_of(const char *address)
{
	return (uint64_t)(strchr(resolve_kinds, address[0]) - resolve_kinds) * 10 + 1;
}

void resolve_answer(directory_found *found, void *context, const char *address)
{
	static char texts[TARGETS][NAME_LONG + 16];
	static struct directory_target targets[TARGETS];
	struct directory_result result = {.targets = targets,
					  .version = resolve_version_of(address)};

	memset(targets, 0, sizeof targets);
	result.target_count = 1;
	switch (address[0]) {
	case 'l': /* its service is not looked at */
		targets[0] = (struct directory_target){.kind = DIRECTORY_TARGET_LIST,
						       .address = STR("list@a.test")};
		break;
	case 'm':
		targets[0] =
			(struct directory_target){DIRECTORY_TARGET_LOCAL, STR("box"), STR("srv"),
						  STR("box@a.test"), STR("owner@a.test")};
		break;
	case 'r':
		targets[0] = (struct directory_target){.kind = DIRECTORY_TARGET_REMOTE,
						       .address = STR("far@b.test")};
		targets[1].kind = DIRECTORY_TARGET_REMOTE; /* itself */
		result.target_count = 2;
		break;
	case 'n':
		targets[0] = (struct directory_target){.kind = DIRECTORY_TARGET_NONE,
						       .address = STR("no@a.test")};
		mail_verdict_set(&targets[0].verdict, "5.7.1", "is refused");
		targets[1] = (struct directory_target){.kind = DIRECTORY_TARGET_LOCAL,
						       .service = STR("box"),
						       .address = STR("yes@a.test")};
		result.target_count = 2;
		break;
	case 't':
		result.target_count = TARGETS;
		for (unsigned i = 0; i < TARGETS; i++) {
			format_long(texts[i], i);
			targets[i] = (struct directory_target){.kind = DIRECTORY_TARGET_REMOTE,
							       .address = str_from(texts[i])};
		}
		break;
	case 'u':
	case 'w':
		result.answer = DIRECTORY_UNKNOWN;
		result.is_away = address[0] == 'w';
		mail_verdict_set(&result.verdict, result.is_away ? "4.4.3" : "4.3.5",
				 result.is_away ? "away" : "why");
		break;
	case 'x':
		result.answer = DIRECTORY_REFUSED;
		mail_verdict_set(&result.verdict, "5.1.1", "no such user");
		break;
	default:
		result.answer = DIRECTORY_NOT_LOCAL;
	}
	found(context, &result);
}
