// SPDX-License-Identifier: ISC
#include "policy/tlsrpt/record.h"
#include "mail/host.h"
#include <string.h>

enum { HTTPS_PORT = 443, LOCAL_PART_MAX = 64 };

static bool is_uri(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~' ||
		    strchr("\"<>\\^`{|}", text.data[i]) != NULL)
			return false;
	return text.length > 0 && text.length < TLSRPT_TARGET_SIZE;
}

static void copy_target_text(char *out, struct str text)
{
	memcpy(out, text.data, text.length);
	out[text.length] = '\0';
}

/* In TEXT "%2C" becomes ",": RFC 8460 section 3 encodes what separates targets. False: it is
 * malformed. */
static bool decode_target(struct str text, char out[TLSRPT_TARGET_SIZE])
{
	size_t length = 0;

	for (size_t i = 0; i < text.length; i++) {
		uint64_t code;

		if (text.data[i] != '%') {
			out[length++] = text.data[i];
			continue;
		}
		if (i + 2 >= text.length ||
		    !str_to_u64_hex(str_slice(text.data + i + 1, 2), &code) || code <= ' ' ||
		    code > '~')
			return false;
		out[length++] = (char)code;
		i += 2;
	}
	out[length] = '\0';
	return true;
}

/* A dot-atom at a domain: quoted local parts are not used for this. */
static bool is_report_address(struct str address)
{
	ptrdiff_t at = str_find_last(address, '@');

	if (at <= 0 || at > LOCAL_PART_MAX || !mail_host_is_name(str_skip(address, (size_t)at + 1)))
		return false;
	for (ptrdiff_t i = 0; i < at; i++)
		if (strchr("()<>[]:;@\\,\" ", address.data[i]) != NULL ||
		    (address.data[i] == '.' &&
		     (i == 0 || i + 1 == at || address.data[i + 1] == '.')))
			return false;
	return true;
}

/* Headers after a '?' are not the domain's to choose. */
static bool read_mailto(struct str text, struct tlsrpt_target *target)
{
	struct str address;

	(void)str_split(&text, '?', &address);
	target->scheme = TLSRPT_MAILTO;
	return decode_target(address, target->text) && is_report_address(str_from(target->text));
}

static bool read_https(struct str text, struct tlsrpt_target *target)
{
	size_t length = 0;
	uint64_t port = HTTPS_PORT;
	struct str host;
	struct str authority;

	while (length < text.length && strchr("/?#", text.data[length]) == NULL)
		length++;
	authority = str_slice(text.data, length);
	text = str_skip(text, length);
	(void)str_split(&authority, ':', &host);
	if (authority.data != NULL && (!str_to_u64(authority, &port) || port == 0 || port > 65535))
		return false;
	if (!mail_host_is_name(host) || str_find(text, '#') >= 0 ||
	    (text.length > 0 && text.data[0] != '/'))
		return false;
	target->scheme = TLSRPT_HTTPS;
	target->port = (uint16_t)port;
	copy_target_text(target->host, host);
	str_lower(target->host, host.length);
	copy_target_text(target->text, text.length > 0 ? text : STR("/"));
	return true;
}

static void take_report_target(struct tlsrpt_record *record, struct str uri)
{
	const struct str mailto = STR("mailto:");
	const struct str https = STR("https://");
	struct tlsrpt_target *target = &record->targets[record->target_count];
	bool is_good = false;

	if (record->target_count == TLSRPT_TARGETS_MAX || !is_uri(uri))
		return;
	if (str_equal_nocase(str_slice(uri.data, uri.length < 7 ? uri.length : 7), mailto))
		is_good = read_mailto(str_skip(uri, mailto.length), target);
	else if (str_equal_nocase(str_slice(uri.data, uri.length < 8 ? uri.length : 8), https))
		is_good = read_https(str_skip(uri, https.length), target);
	if (is_good)
		record->target_count++;
}

static void take_tlsrpt_field(struct tlsrpt_record *record, struct str field)
{
	struct str name;
	struct str uri;

	(void)str_split(&field, '=', &name);
	if (!str_equal(str_trim(name), STR("rua")) || record->target_count > 0)
		return;
	while (str_split(&field, ',', &uri))
		take_report_target(record, str_trim(uri));
}

void tlsrpt_record_add(struct tlsrpt_record *record, struct str text)
{
	const struct str version = STR("v=TLSRPTv1");
	struct str rest = str_skip(text, version.length);
	struct str field;

	if (!str_starts_with(text, version))
		return;
	rest = str_trim(rest);
	if (rest.length == 0 || rest.data[0] != ';')
		return;
	record->count++;
	rest = str_skip(rest, 1);
	while (str_split(&rest, ';', &field))
		take_tlsrpt_field(record, str_trim(field));
}

bool tlsrpt_record_is_valid(const struct tlsrpt_record *record)
{
	return record->count == 1 && record->target_count > 0;
}
