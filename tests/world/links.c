// SPDX-License-Identifier: ISC
#include "links.h"
#include "kernel.h"
#include <err.h>
#include <stdlib.h>

struct link {
	struct link *next;
	uint32_t from, to;
	int64_t cut_until_us;
	int64_t slow_until_us;
	int64_t delay_us;
};

static struct link *links;

static struct link *find_link(uint32_t from, uint32_t to)
{
	struct link *link = links;

	while (link != NULL && (link->from != from || link->to != to))
		link = link->next;
	return link;
}

static struct link *link_of(uint32_t from, uint32_t to)
{
	struct link *link = find_link(from, to);

	if (link != NULL)
		return link;
	link = calloc(1, sizeof *link);
	if (link == NULL)
		err(1, "no memory");
	*link = (struct link){.next = links, .from = from, .to = to};
	links = link;
	return link;
}

void links_cut(uint32_t from, uint32_t to, int64_t until_us)
{
	struct link *link = link_of(from, to);

	if (link->cut_until_us < until_us)
		link->cut_until_us = until_us;
}

void links_slow(uint32_t from, uint32_t to, int64_t delay_us, int64_t until_us)
{
	struct link *link = link_of(from, to);

	link->delay_us = delay_us;
	link->slow_until_us = until_us;
}

int64_t links_arrival(uint32_t from, uint32_t to, int64_t when_us)
{
	const struct link *link = find_link(from, to);

	if (link == NULL)
		return when_us;
	if (link->slow_until_us > kernel_now_us())
		when_us += link->delay_us;
	return when_us < link->cut_until_us ? link->cut_until_us : when_us;
}

void links_end(void)
{
	while (links != NULL) {
		struct link *link = links;

		links = link->next;
		free(link);
	}
}
