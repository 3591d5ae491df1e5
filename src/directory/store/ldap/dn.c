// SPDX-License-Identifier: ISC
#include "directory/store/ldap/dn.h"
#include "base/panic.h"
#include <errno.h>
#include <ldap.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <uninorm.h>
#include <unistr.h>

enum { LOOKAHEAD = 8 };

static bool is_special_in_dn(char byte)
{
	return (unsigned char)byte < ' ' || byte == 0x7f || strchr(",+\"\\<>;=#", byte) != NULL;
}

/* Appends TEXT with single spaces, none at its ends, and special bytes escaped; also escapes what
 * is not ASCII, unless IS_UNICODE. */
static void append_escaped_dn_text(struct buffer *out, struct str text, bool is_unicode)
{
	text = str_trim(text);
	for (size_t i = 0; i < text.length; i++) {
		if (is_special_in_dn(text.data[i]) ||
		    (!is_unicode && (unsigned char)text.data[i] >= 0x80))
			buffer_append_format(out, "\\%02x", (unsigned char)text.data[i]);
		else if (text.data[i] != ' ' || text.data[i - 1] != ' ')
			buffer_append_byte(out, text.data[i]);
	}
}

static void append_folded_value(struct buffer *out, const struct berval *value)
{
	size_t length = 0;
	uint8_t *folded = u8_casefold((const uint8_t *)value->bv_val, value->bv_len, NULL,
				      UNINORM_NFC, NULL, &length);

	if (folded != NULL)
		append_escaped_dn_text(out, str_slice((const char *)folded, length), true);
	else if (errno == ENOMEM)
		panic("out of memory");
	else /* not UTF-8 */
		append_escaped_dn_text(out, str_slice(value->bv_val, value->bv_len), false);
	free(folded);
}

static void append_part_of_rdn(struct buffer *out, const LDAPAVA *part)
{
	size_t start = out->length;

	buffer_append(out, part->la_attr.bv_val, part->la_attr.bv_len);
	str_lower(buffer_data(out) + start, out->length - start);
	buffer_append_byte(out, '=');
	append_folded_value(out, &part->la_value);
}

static int compare_rdn_parts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends the parts of a multivalued RDN, cn=a+sn=b, sorted by their text. */
static void append_parts(struct buffer *out, LDAPRDN rdn, size_t count)
{
	struct buffer text = {0};
	char **parts = memory_alloc_zero(count, sizeof(*parts));

	for (size_t i = 0; i < count; i++) {
		buffer_reset(&text);
		append_part_of_rdn(&text, rdn[i]);
		buffer_append_byte(&text, '\0');
		parts[i] = memory_copy_string(buffer_data(&text));
	}
	qsort(parts, count, sizeof(*parts), compare_rdn_parts);
	for (size_t i = 0; i < count; i++) {
		buffer_append_string(out, i > 0 ? "+" : "");
		buffer_append_string(out, parts[i]);
		free(parts[i]);
	}
	free(parts);
	buffer_clear(&text);
}

static void append_rdn(struct buffer *out, LDAPRDN rdn)
{
	size_t count = 0;

	while (rdn[count] != NULL)
		count++;
	if (count == 1)
		append_part_of_rdn(out, rdn[0]);
	else
		append_parts(out, rdn, count);
}

/* Strips #'0101'B from the end of a value of uniqueMember. */
static struct str without_identifier(struct str text)
{
	ptrdiff_t mark = str_find_last(text, '#');

	if (mark > 0 && str_ends_with_nocase(text, STR("'B")) && text.data[mark - 1] != '\\' &&
	    text.data[mark - 1] != '=')
		text.length = (size_t)mark;
	return text;
}

/* Checks first, as libldap reads beyond the end of some names. NULL: TEXT is not a valid name. */
static LDAPDN parse_dn(struct str text)
{
	struct str name = without_identifier(text);
	char copy[DN_MAX + LOOKAHEAD];
	LDAPDN dn = NULL;

	if (name.length == 0 || name.length > DN_MAX || str_find(name, '\0') >= 0 ||
	    u8_check((const uint8_t *)name.data, name.length) != NULL)
		return NULL;
	memcpy(copy, name.data, name.length);
	memset(copy + name.length, 0, LOOKAHEAD);
	return ldap_str2dn(copy, &dn, LDAP_DN_FORMAT_LDAPV3) == LDAP_SUCCESS ? dn : NULL;
}

int dn_normalize(struct str text, struct buffer *out)
{
	LDAPDN dn = parse_dn(text);
	size_t count = 0;

	if (dn == NULL)
		return -EINVAL;
	while (dn[count] != NULL)
		count++;
	for (size_t i = count; i > 0; i--) {
		buffer_append_string(out, i < count ? "," : "");
		append_rdn(out, dn[i - 1]);
	}
	ldap_dnfree(dn);
	return 0;
}

void dn_display(struct str form, struct buffer *out)
{
	while (form.length > 0) {
		ptrdiff_t comma = str_find_last(form, ',');
		struct str last = str_skip(form, (size_t)(comma + 1));

		buffer_append_str(out, last);
		form.length = comma < 0 ? 0 : (size_t)comma;
		if (comma >= 0)
			buffer_append_byte(out, ',');
	}
}

void dn_domain(struct str form, struct buffer *out)
{
	struct buffer name = {0};

	dn_display(form, &name);
	for (struct str rest = buffer_view(&name), part; rest.length > 0;) {
		(void)str_split(&rest, ',', &part);
		if (!str_starts_with(part, STR("dc=")))
			continue;
		if (out->length > 0)
			buffer_append_byte(out, '.');
		buffer_append_str(out, str_skip(part, 3));
	}
	buffer_clear(&name);
}
