// SPDX-License-Identifier: ISC
#include "dns/mx.h"
#include "base/panic.h"
#include "os/random.h"
#include <stdlib.h>
#include <string.h>

bool dns_mx_parse(struct str data, struct dns_mx *mx_out)
{
	struct dns_mx mx = {0};

	if (data.length < 3)
		return false;
	mx.preference = (uint16_t)((unsigned char)data.data[0] << 8 | (unsigned char)data.data[1]);
	if (!dns_name_parse(str_skip(data, 2), mx.host))
		return false;
	*mx_out = mx;
	return true;
}

static int compare_mx_preferences(const void *a, const void *b)
{
	const struct dns_mx *left = a;
	const struct dns_mx *right = b;

	return (left->preference > right->preference) - (left->preference < right->preference);
}

static void shuffle_mx_hosts(struct dns_mx *list, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t j = os_random_below(i);
		struct dns_mx moved = list[i - 1];

		list[i - 1] = list[j];
		list[j] = moved;
	}
}

/* Records come in any order: all are parsed, even if only few are kept. */
size_t dns_mx_read(const struct dns_answer *answer, struct dns_mx *list)
{
	struct dns_mx *all = memory_alloc_zero(answer->count + 1, sizeof *all);
	size_t count = 0;
	size_t end;

	for (size_t i = 0; i < answer->count; i++)
		if (dns_mx_parse(str_slice(answer->data[i], (size_t)answer->lengths[i]),
				 &all[count]))
			count++;
	qsort(all, count, sizeof *all, compare_mx_preferences);
	for (size_t start = 0; start < count; start = end) {
		for (end = start; end < count && all[end].preference == all[start].preference;)
			end++;
		shuffle_mx_hosts(all + start, end - start);
	}
	if (count > DNS_MX_MAX)
		count = DNS_MX_MAX;
	memcpy(list, all, count * sizeof *list);
	free(all);
	return count;
}
