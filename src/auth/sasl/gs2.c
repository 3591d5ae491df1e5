// SPDX-License-Identifier: ISC
/* The header of mechanisms that are made of GSS-API ones, RFC 5801 section 4. */
#include "auth/sasl/internal.h"

static bool is_binding_name(struct str name)
{
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '.' && c != '-')
			return false;
	}
	return name.length > 0;
}

bool sasl_gs2_take(struct str *message, struct sasl_gs2 *out)
{
	struct str rest = *message;
	struct str flag;
	struct str as;

	*out = (struct sasl_gs2){0};
	if (!str_split(&rest, ',', &flag) || rest.data == NULL || !str_split(&rest, ',', &as) ||
	    rest.data == NULL || flag.length == 0)
		return false;
	out->flag = flag.data[0];
	if (out->flag == 'p') {
		out->binding = str_skip(flag, 2);
		if (!str_starts_with(flag, STR("p=")) || !is_binding_name(out->binding))
			return false;
	} else if (flag.length != 1 || (out->flag != 'n' && out->flag != 'y')) {
		return false;
	}
	out->as = str_skip(as, 2);
	if (as.length > 0 && (!str_starts_with(as, STR("a=")) || out->as.length == 0))
		return false;
	out->header = str_slice(message->data, (size_t)(rest.data - message->data));
	*message = rest;
	return true;
}

bool sasl_gs2_name(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		struct str rest = str_skip(text, i);

		if (text.data[i] == '\0' || text.data[i] == ',')
			return false;
		if (text.data[i] != '=') {
			buffer_append_byte(out, text.data[i]);
			continue;
		}
		if (str_starts_with(rest, STR("=2C")))
			buffer_append_byte(out, ',');
		else if (str_starts_with(rest, STR("=3D")))
			buffer_append_byte(out, '=');
		else
			return false;
		i += 2;
	}
	return text.length > 0;
}
