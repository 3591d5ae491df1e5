// SPDX-License-Identifier: ISC
#include "node.h"
#include <stdlib.h>
static const char config[] = "hostname = \"mx.one.example\"\nqueue = \"/var/queue\"\nrun = \"/run/stagepost\"\nlisten smtp { address = { \"10.0.0.1:25\" } }\n"
"service maildir { kind = maildir  path = \"/var/mail/%d/%u\" }\ndomain \"one.example\" { service = maildir }\n";
int main(int argc, char **argv)
{
	world_begin(strtoull(argv[1], NULL, 10), stdout);
	(void)argc;
	node_add_programs();
	struct machine *m = node_new("one", 0x0a000001, config);
	node_start(m);
	world_run(60000000);
	printf("%llx\n", (unsigned long long)world_fingerprint());
	world_end();
	return 0;
}
