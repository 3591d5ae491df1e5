// SPDX-License-Identifier: ISC
#include "filing/user.h"
#include "mail/address.h"
#include "mail/localpart.h"
#include "mail/unicode.h"
#include <errno.h>

/* What follows the '+'; empty: nothing. */
static struct str detail_of(const struct mail_localpart *local)
{
	struct str whole = mail_localpart_whole(local);
	size_t begin = local->user_length + 1;

	return begin < whole.length ? str_slice(whole.data + begin, whole.length - begin) : STR("");
}

static int write_user(const struct mail_localpart *local, struct str domain, struct arena *arena,
		      struct str *user_out)
{
	struct mail_domain form;
	struct buffer user = {0};

	if (domain.length == 0 || !mail_domain_form(domain, &form))
		return -EINVAL;
	mail_address_write(mail_localpart_user(local), mail_domain_view(&form), &user);
	*user_out = arena_copy_str(arena, buffer_view(&user));
	buffer_clear(&user);
	return 0;
}

int filing_user(struct str address, struct arena *arena, struct str *user_out,
		struct str *detail_out, struct str *written_out)
{
	struct mail_parts parts = mail_parts_of(address);
	struct mail_localpart local;
	struct str user = STR("");
	int error = mail_localpart_parse(parts.local, &local);

	if (error == 0)
		error = write_user(&local, parts.domain, arena, &user);
	if (error == 0 && user.length > RECORD_ADDRESS_MAX)
		error = -EINVAL;
	if (error != 0)
		return error;
	*user_out = user;
	if (detail_out != NULL)
		*detail_out = arena_copy_str(arena, detail_of(&local));
	if (written_out != NULL) {
		struct buffer tag = {0};

		mail_localpart_tag(parts.local, &tag);
		*written_out = arena_copy_str(arena, buffer_view(&tag));
		buffer_clear(&tag);
	}
	return 0;
}
