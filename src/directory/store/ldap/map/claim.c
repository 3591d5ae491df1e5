// SPDX-License-Identifier: ISC
#include "directory/store/ldap/map/claim.h"
#include <stdlib.h>
#include <string.h>

struct str claim_fields_text(struct arena *arena, const struct directory_record *record)
{
	struct buffer text = {0};
	struct str result;

	for (size_t i = 0; i < record->field_count; i++) {
		buffer_append_str(&text, record->fields[i].name);
		buffer_append_byte(&text, '\0');
		buffer_append_str(&text, record->fields[i].value);
		buffer_append_byte(&text, '\0');
	}
	result = arena_copy_str(arena, buffer_view(&text));
	buffer_clear(&text);
	return result;
}

int claim_compare(const struct claim *x, const struct claim *y)
{
	size_t shorter = x->key.length < y->key.length ? x->key.length : y->key.length;
	int order = x->table - y->table;

	if (order == 0 && shorter > 0)
		order = memcmp(x->key.data, y->key.data, shorter);
	if (order == 0 && x->key.length != y->key.length)
		order = x->key.length < y->key.length ? -1 : 1;
	return order;
}

/* Makes the order unique, as qsort() is not stable. */
static int compare_claim_places(const void *a, const void *b)
{
	const struct claim *x = *(const struct claim *const *)a;
	const struct claim *y = *(const struct claim *const *)b;
	int order = claim_compare(x, y);

	if (order == 0)
		order = x < y ? -1 : x > y;
	return order;
}

void claim_sort(const struct buffer *claims, struct arena *arena, struct mapping *mapping)
{
	const struct claim *given = (const struct claim *)(const void *)buffer_data(claims);
	size_t count = claims->length / sizeof(*given);
	const struct claim **places = arena_alloc(arena, (count + 1) * sizeof(*places));
	struct claim *sorted = arena_alloc(arena, (count + 1) * sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		places[i] = &given[i];
	qsort(places, count, sizeof(const struct claim *), compare_claim_places);
	for (size_t i = 0; i < count; i++)
		if (mapping->claim_count == 0 ||
		    claim_compare(&sorted[mapping->claim_count - 1], places[i]) != 0)
			sorted[mapping->claim_count++] = *places[i];
	mapping->claims = sorted;
}

void claim_fields(struct str text, struct arena *arena, const struct directory_field **fields_out,
		  size_t *count_out)
{
	struct directory_field *fields;
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += text.data[i] == '\0';
	fields = arena_alloc(arena, (count / 2 + 1) * sizeof(*fields));
	count = 0;
	while (text.length > 0) {
		(void)str_split(&text, '\0', &fields[count].name);
		(void)str_split(&text, '\0', &fields[count].value);
		count++;
	}
	*fields_out = fields;
	*count_out = count;
}
