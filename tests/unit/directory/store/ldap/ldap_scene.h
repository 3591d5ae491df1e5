// SPDX-License-Identifier: ISC
/* tests/unit/directory/store/ldap/ldap_scene.h - what tests with played LDAP servers have in
 * common. */
#ifndef TESTS_UNIT_LDAP_SCENE_H
#define TESTS_UNIT_LDAP_SCENE_H

#include "played_ldap.h"
#include "test.h"

static struct buffer why;

static inline int set_up(void **state)
{
	(void)state;
	played_ldap_begin(false);
	return 0;
}

/* With the URLs that can have TLS. */
static inline int set_up_tcp(void **state)
{
	(void)state;
	played_ldap_begin(true);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	played_ldap_end();
	buffer_clear(&why);
	return 0;
}

/* TEXT, which is read, is as WANTED. */
static inline void assert_text(struct buffer *text, const char *wanted)
{
	if (!str_equal(buffer_view(text), str_from(wanted)))
		fail_msg(STR_FORMAT "\n--- instead of\n%s", STR_ARGUMENTS(buffer_view(text)),
			 wanted);
	buffer_reset(text);
}

static inline void assert_heard(const char *wanted)
{
	assert_text(&played_ldap.heard, wanted);
}

static inline void assert_why(const char *wanted)
{
	assert_text(&why, wanted);
}

#endif
