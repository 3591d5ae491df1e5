// SPDX-License-Identifier: ISC
#include "mail/unicode.h"
#include "base/text/utf8.h"
#include <errno.h>
#include <idn2.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <uninorm.h>

enum {
	NAME_MAX_BYTES = 1024,  /* of a domain in U-labels: 253 characters of at most 4 bytes */
	LOCAL_MAX_BYTES = 1024, /* of a local part, before it is composed */
	IDNA_FLAGS = IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL,
};

static void free_bytes(uint8_t **bytes)
{
	free(*bytes);
}

/* Converts NAME, which ends with a NUL, to A-labels: malloc'd, or NULL. */
static uint8_t *to_a_labels(const uint8_t *name)
{
	uint8_t *result = NULL;

	if (idn2_lookup_u8(name, &result, IDNA_FLAGS) != IDN2_OK) {
		free(result);
		return NULL;
	}
	return result;
}

int mail_unicode_domain(struct str name, struct buffer *out)
{
	uint8_t text[NAME_MAX_BYTES + 1];
	CLEANUP(free_bytes) uint8_t *first = NULL;
	CLEANUP(free_bytes) uint8_t *second = NULL;
	struct str result;

	if (name.length == 0 || name.length > NAME_MAX_BYTES ||
	    memchr(name.data, '\0', name.length) != NULL)
		return -EINVAL;
	memcpy(text, name.data, name.length);
	text[name.length] = '\0';
	first = to_a_labels(text);
	if (first == NULL)
		return -EINVAL;
	result = str_from((char *)first);
	str_lower((char *)first, result.length);
	/* if converting twice gives another result, it would be stored and looked up differently */
	second = to_a_labels(first);
	if (second == NULL || strcmp((char *)first, (char *)second) != 0 ||
	    !mail_domain_is_valid(result))
		return -EINVAL;
	buffer_append_str(out, result);
	return 0;
}

static bool is_utf8_without_controls(struct str s)
{
	while (s.length > 0) {
		size_t length = utf8_length(s);
		uint32_t code = utf8_code_point(s);

		/* C0, C1, and the separators that end a line */
		if (length == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 ||
		    code == 0x2029)
			return false;
		s = str_skip(s, length);
	}
	return true;
}

/* Converts to lower case and NFC; malloc'd, NULL: no memory, or not UTF-8. */
static uint8_t *to_lower(const uint8_t *text, size_t length, size_t *length_out)
{
	CLEANUP(free_bytes)
	uint8_t *composed = u8_normalize(UNINORM_NFC, text, length, NULL, length_out);

	if (composed == NULL)
		return NULL;
	/* "": without rules of a language (Turkish), so that it is the same everywhere */
	return u8_tolower(composed, *length_out, "", UNINORM_NFC, NULL, length_out);
}

int mail_unicode_local(struct str local, struct buffer *out)
{
	CLEANUP(free_bytes) uint8_t *first = NULL;
	CLEANUP(free_bytes) uint8_t *second = NULL;
	size_t first_length;
	size_t second_length;

	if (local.length == 0 || local.length > LOCAL_MAX_BYTES || !is_utf8_without_controls(local))
		return -EINVAL;
	first = to_lower((const uint8_t *)local.data, local.length, &first_length);
	if (first == NULL)
		return -EINVAL;
	second = to_lower(first, first_length, &second_length);
	if (second == NULL || first_length != second_length ||
	    memcmp(first, second, first_length) != 0 ||
	    !is_utf8_without_controls(str_slice((char *)first, first_length)))
		return -EINVAL;
	buffer_append(out, first, first_length);
	return 0;
}

void mail_unicode_display(struct str name, struct buffer *out)
{
	char text[MAIL_DOMAIN_MAX + 1];
	char *shown = NULL;

	if (name.length < sizeof text) {
		memcpy(text, name.data, name.length);
		text[name.length] = '\0';
		if (idn2_to_unicode_8z8z(text, &shown, 0) != IDN2_OK) {
			free(shown);
			shown = NULL;
		}
	}
	if (shown != NULL && is_utf8_without_controls(str_from(shown)))
		buffer_append_string(out, shown);
	else
		buffer_append_str(out, name);
	free(shown);
}

static void copy_lower(struct mail_domain *domain, struct str name)
{
	domain->length = name.length < MAIL_DOMAIN_MAX ? name.length : MAIL_DOMAIN_MAX;
	memcpy(domain->text, name.data, domain->length);
	domain->text[domain->length] = '\0';
	str_lower(domain->text, domain->length);
}

bool mail_domain_form(struct str name, struct mail_domain *out)
{
	struct buffer form = {0};
	bool is_form = str_is_ascii(name) && name.length <= MAIL_DOMAIN_MAX;

	if (is_form || mail_unicode_domain(name, &form) < 0) {
		copy_lower(out, name);
	} else {
		copy_lower(out, buffer_view(&form));
		is_form = true;
	}
	buffer_clear(&form);
	return is_form;
}

struct str mail_domain_view(const struct mail_domain *domain)
{
	return str_slice(domain->text, domain->length);
}

void mail_unicode_address(struct str address, struct buffer *out)
{
	ptrdiff_t at = str_find_last(address, '@');
	struct str domain = str_skip(address, (size_t)(at + 1));
	bool has_domain = at >= 0 && !str_is_ascii(domain);
	struct buffer labels CLEANUP(buffer_clear) = {0};

	if (has_domain && mail_unicode_domain(domain, &labels) == 0)
		address.length = (size_t)(at + 1);
	while (address.length > 0) {
		size_t length = utf8_length(address);

		if (length == 1)
			buffer_append_byte(out, address.data[0]);
		else
			buffer_append_format(out, "\\x{%X}", utf8_code_point(address));
		address = str_skip(address, length > 0 ? length : 1);
	}
	buffer_append_str(out, buffer_view(&labels));
}

bool mail_unicode_is_address(struct str shown, struct str address)
{
	struct buffer form CLEANUP(buffer_clear) = {0};

	if (str_equal(shown, address) || str_equal_nocase(shown, address))
		return true;
	if (str_is_ascii(address))
		return false;
	mail_unicode_address(address, &form);
	return str_equal_nocase(shown, buffer_view(&form));
}
