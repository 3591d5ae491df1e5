// SPDX-License-Identifier: ISC
/* tests/unit/test.h - cmocka with what it needs before it. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka 1.1 wants the four above first */
#include <cmocka.h>

#endif
