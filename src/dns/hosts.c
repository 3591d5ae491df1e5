// SPDX-License-Identifier: ISC
#include "dns/hosts.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* A name, in lower case, and one of its addresses. */
struct entry {
	struct str name; /* in the text */
	struct in6_addr address;
	size_t line; /* for the order of the file */
};

struct dns_hosts {
	struct buffer text;
	struct entry *entries; /* sorted by name, then by line */
	size_t count, room;
};

static int compare_host_names(struct str a, struct str b)
{
	size_t shorter = a.length < b.length ? a.length : b.length;
	int order = memcmp(a.data, b.data, shorter);

	return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a;
	const struct entry *right = b;
	int order = compare_host_names(left->name, right->name);

	return order != 0 ? order : (left->line > right->line) - (left->line < right->line);
}

static void add_entry(struct dns_hosts *hosts, const struct entry *entry)
{
	hosts->entries =
		memory_grow(hosts->entries, hosts->count, &hosts->room, sizeof *hosts->entries);
	hosts->entries[hosts->count++] = *entry;
}

/* Takes the next word of LINE; false: there is none. */
static bool take_hosts_word(struct str *line, struct str *word_out)
{
	size_t length = 0;

	*line = str_trim(*line);
	while (length < line->length && line->data[length] != ' ' && line->data[length] != '\t' &&
	       line->data[length] != '\r')
		length++;
	*word_out = str_slice(line->data, length);
	*line = str_skip(*line, length);
	return length > 0;
}

/* A zone ("fe80::1%eth0") is left out: such a name is not known. */
static bool parse_hosts_address(struct str word, struct in6_addr *out)
{
	char text[OS_SOCKET_TEXT_SIZE];
	union os_socket_address address;

	if (word.length >= sizeof text)
		return false;
	memcpy(text, word.data, word.length);
	text[word.length] = '\0';
	if (!os_socket_address_parse(text, 0, &address))
		return false;
	*out = os_socket_address_mapped(&address);
	return true;
}

static void parse_hosts_line(struct dns_hosts *hosts, struct str line, size_t number)
{
	struct entry entry = {.line = number};
	struct str words;

	(void)str_split(&line, '#', &words);
	if (!take_hosts_word(&words, &entry.name) ||
	    !parse_hosts_address(entry.name, &entry.address))
		return;
	while (take_hosts_word(&words, &entry.name)) {
		if (entry.name.data[entry.name.length - 1] == '.')
			entry.name.length--;
		if (entry.name.length > 0)
			add_entry(hosts, &entry);
	}
}

/* Takes over TEXT. */
static struct dns_hosts *hosts_new(struct buffer *text)
{
	struct dns_hosts *hosts = memory_alloc_zero(1, sizeof *hosts);
	struct str rest;
	struct str line;

	hosts->text = *text;
	str_lower(buffer_data(&hosts->text), hosts->text.length);
	rest = buffer_view(&hosts->text);
	for (size_t number = 0; str_split(&rest, '\n', &line); number++)
		parse_hosts_line(hosts, line, number);
	if (hosts->count > 0)
		qsort(hosts->entries, hosts->count, sizeof *hosts->entries, compare_entries);
	return hosts;
}

struct dns_hosts *dns_hosts_parse(struct str text)
{
	struct buffer copy = {0};

	buffer_append_str(&copy, text);
	return hosts_new(&copy);
}

/* A line that goes on behind the bound counts for nothing: what is left of it may be another name.
 */
static void cut_hosts_text(struct buffer *text)
{
	struct str read = buffer_view(text);

	if (read.length < DNS_HOSTS_FILE_MAX)
		return;
	read.length = DNS_HOSTS_FILE_MAX;
	buffer_truncate(text, (size_t)(str_find_last(read, '\n') + 1));
}

struct dns_hosts *dns_hosts_read(void)
{
	enum { PART = 65536 };
	int file = os_file_open(OS_FILE_HERE, "/etc/hosts", OS_FILE_READ | OS_FILE_NO_BLOCK);
	struct buffer text = {0};
	ssize_t length = 1;

	while (file >= 0 && length > 0 && text.length < DNS_HOSTS_FILE_MAX) {
		length = os_file_read(file, buffer_reserve(&text, PART), PART, text.length);
		if (length > 0)
			buffer_commit(&text, (size_t)length);
	}
	if (file >= 0)
		os_file_close(file);
	cut_hosts_text(&text);
	return hosts_new(&text);
}

void dns_hosts_free(struct dns_hosts *hosts)
{
	if (hosts == NULL)
		return;
	buffer_clear(&hosts->text);
	free(hosts->entries);
	free(hosts);
}

/* The first entry of NAME, or where it would be. */
static size_t find_first(const struct dns_hosts *hosts, struct str name)
{
	size_t low = 0;
	size_t high = hosts->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_host_names(hosts->entries[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_address(struct dns_hosts_answer *out, const struct in6_addr *address)
{
	bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
	size_t length = is_v4 ? sizeof(struct in_addr) : sizeof *address;
	size_t i = out->answer.count++;

	memcpy(out->bytes[i], &address->s6_addr[sizeof *address - length], length);
	out->data[i] = out->bytes[i];
	out->lengths[i] = (int)length;
	out->answer.status = DNS_FOUND;
}

bool dns_hosts_find(const struct dns_hosts *hosts, const char *name, enum dns_type type,
		    struct dns_hosts_answer *out)
{
	char lower[256];
	size_t length = strlen(name);
	size_t i;

	if ((type != DNS_TYPE_A && type != DNS_TYPE_AAAA) || length >= sizeof lower)
		return false;
	memcpy(lower, name, length);
	str_lower(lower, length);
	i = find_first(hosts, str_slice(lower, length));
	if (i == hosts->count || !str_equal(hosts->entries[i].name, str_slice(lower, length)))
		return false;
	out->answer = (struct dns_answer){.status = DNS_NO_DATA,
					  .reason = "",
					  .data = out->data,
					  .lengths = out->lengths,
					  .ttl = DNS_HOSTS_TTL,
					  .canonical = ""};
	for (; i < hosts->count && out->answer.count < DNS_HOSTS_ADDRESSES_MAX &&
	       str_equal(hosts->entries[i].name, str_slice(lower, length));
	     i++) {
		const struct in6_addr *address = &hosts->entries[i].address;

		if (IN6_IS_ADDR_V4MAPPED(address) == (type == DNS_TYPE_A))
			add_address(out, address);
	}
	return true;
}
