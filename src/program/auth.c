// SPDX-License-Identifier: ISC
/* auth - judges whether clients are who they say, for the processes that speak to them: the only
 * one that sees passwords and tokens. */
#include "program/kind/auth.h"

int main(int argc, char **argv)
{
	return auth_process_main(argc, argv, "auth", NULL);
}
