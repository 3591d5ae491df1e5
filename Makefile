# SPDX-License-Identifier: ISC
# Meson builds; what takes more than a line is in tools/.
prefix = /usr/local
DESTDIR =
# of a sendmail that every user of the machine may run; empty: none
submit_group =
T = 60
CUTS = 300
DAMAGES = 10000
VARIANT_CUTS = 20
# what an installation has in its folders of programs
PROGRAMS = stagepost queue send resolve names keys policy auth auth-ldap list remote lmtp local mailbox mailbox-postgresql mailbox-mariadb mailbox-command \
	mailbox-command-postgresql mailbox-command-mariadb decode pipe launch handover noded smtpd qmtpd directory directory-command directory-ldap \
	directory-postgresql

# "make run" in a fresh clone compiles folders as units; who goes on to work here compiles files.
WHOLE = false
build/build.ninja:
	meson setup build -Dbuildtype=release -Dwhole=$(WHOLE)

.DEFAULT_GOAL := all
.PHONY: by-files all tree run test check lint format coverage bench bench-nodes burst big crash cost damage kill freeze faults calls smuggle hostile \
	partition machines once upgrades world world-finds world-long mutants drawn reproducible soak model model-handover fuzz inside reliability reliability-page install uninstall \
	fresh clean deb help packages clang

by-files: build/build.ninja
	@! grep -q unity0 $< || meson configure build -Dwhole=false

all: by-files ## build what runs: build/stagepost
	@ninja -C build $(PROGRAMS)

tree: by-files ## build all of the release tree, with its unit tests and what the campaigns and tests/e2e need
	@ninja -C build

clang: ## build everything with Clang; "make test" only checks that every source is right there
	@[ -e build-clang/build.ninja ] || CC=clang meson setup build-clang -Doptimization=0
	@ninja -C build-clang

packages: ## install the Debian packages that building and testing need
	@tools/install-packages build test

run: ## build, serve on loopback, send two messages through; ONCE=1: and stop; NODES=3: through three nodes
	@tools/install-packages build
	@$(MAKE) --no-print-directory build/build.ninja WHOLE=true
	@ninja -C build $(PROGRAMS)
	@tools/run $(if $(NODES),--nodes $(NODES)) $(if $(ONCE),--once)

test: ## every test, after installing what they need; the last line is "N passed, N failed"
	@tools/install-packages build test
	@tools/test

check: ## what a change can break, or one test, in seconds: T=queue, T=src/queue/store.c, T=test_dsn, T=test_dsn::NAME
	@tools/check $(if $(filter command line,$(origin T)),"$(T)")

lint: ## layout, static analysis, layers, scripts
	@tools/lint

format: ## rewrite the C sources in the project's layout
	@find src tests -name '*.[ch]' | xargs clang-format -i

coverage: ## lines and branches that the tests inside Meson reach
	@tools/coverage

bench: tree ## measure beside Postfix
	@tests/bench/run
	@tests/bench/run --directory

bench-nodes: tree ## mail over two nodes beside two Postfix, more nodes, and a node that is drained
	@tests/bench/run --nodes

burst: tree ## bursts to slow, mute, dead, greylisting and huge destinations, beside Postfix
	@tests/bench/run --burst

big: tree ## 100,000 and a million waiting messages; minutes, and 25 GiB
	@MANY=100000 tests/e2e/run tests/e2e/deliver/test_many.py -s
	@MANY=1000000 tests/e2e/run tests/e2e/deliver/test_many.py -s

damage: tree ## queues whose files a disk or a hand has changed, DAMAGES times, started again and drained
	@DAMAGES=$(DAMAGES) tests/e2e/run tests/e2e/queue/test_damage_campaign.py -s

crash: tree ## every crash state; CUTS power cuts on each filesystem, VARIANT_CUTS on each kind of ext4
	@tests/crash/run
	@tests/power/run --cuts $(CUTS)
	@tests/power/run --variant all --cuts $(VARIANT_CUTS)

cost: tree ## inputs of our parsers, and of libraries, whose cost grows faster than their size; COST_SECONDS of each
	@tests/fuzz/cost-all build $(COST_TARGETS)

kill: tree ## kill -9 at every system call, and for ten minutes at random; about an hour
	@KILL_CALLS=0 tests/e2e/run tests/e2e/campaign/test_kill_syscalls.py -s
	@KILL_CALLS=0 tests/e2e/run tests/e2e/node/test_handover_calls.py -s
	@KILL_CALLS=0 tests/e2e/run tests/e2e/limit/test_kill_limits.py -s
	@KILL_CALLS=0 tests/e2e/run tests/e2e/queue/test_repair.py -s -k killed_at_every_call
	@KILL_SECONDS=600 tests/e2e/run tests/e2e/campaign/test_kill.py -s

freeze: tree ## processes stand still at random for ten minutes: nothing is lost, leaked or stuck
	@FREEZE_SECONDS=$${FREEZE_SECONDS:-600} tests/e2e/run tests/e2e/campaign/test_freeze.py -s

inside: tree ## each process is taken over for a minute while mail flows; ten minutes
	@INSIDE_SECONDS=$${INSIDE_SECONDS:-60} tests/e2e/run tests/e2e/confine/test_taken_over.py -s

faults: tree ## every call of every process fails once, with each error; hours. KEEP=DIR: where to go on
	@tests/e2e/faults $(if $(KEEP),--keep "$(KEEP)")

calls: tree ## each call of the system that the product makes in a unit test fails once; T seconds
	@tests/faults/units build --seconds $(T) --seed $${SEED:-1}

smuggle: tree ## every short string of line ends and dots, in and out, among other mail systems
	@SMUGGLE=all tests/e2e/run tests/e2e/hostile/test_smuggling.py -s

hostile: tree ## hostile clients, servers, name servers and directories, published flaws, the sandbox, the clock
	@LIES=all tests/e2e/run -s tests/e2e/hostile/test_hostile_*.py tests/e2e/hostile/test_lying_*.py \
		tests/e2e/hostile/test_published_flaws*.py tests/e2e/confine/test_sandbox.py tests/e2e/queue/test_clock.py
	@TESTSSL=all tests/e2e/run -s tests/e2e/tls/test_testssl.py
	@FLOOD_SECONDS=60 tests/e2e/run -s tests/e2e/intake/test_session_flood.py

reliability: ## all of these campaigns, one after the other, for doc/reliability.md; half a day
	@mkdir -p doc/reliability
	@export STAGEPOST_RECORD=$(CURDIR)/doc/reliability && $(MAKE) model && $(MAKE) crash && $(MAKE) damage && $(MAKE) kill && \
		$(MAKE) freeze && $(MAKE) faults && $(MAKE) smuggle && $(MAKE) hostile && $(MAKE) inside && \
		$(MAKE) partition && $(MAKE) once && $(MAKE) mutants && \
		$(MAKE) soak && $(MAKE) fuzz && tools/coverage --e2e
	@$(MAKE) reliability-page

reliability-page: ## rewrite doc/reliability.md from the records of the campaigns
	@tools/print-reliability > doc/reliability.md.new
	@mv doc/reliability.md.new doc/reliability.md

soak: tree ## mixed load with faults for an hour: nothing is lost, nothing grows
	@SOAK_SECONDS=$${SOAK_SECONDS:-3600} tests/e2e/run tests/e2e/campaign/test_soak.py -s

partition: tree ## part directories, databases and mail machines 200 times under load
	@PARTITIONS=200 tests/e2e/run tests/e2e/directory/test_directory_partition.py -s

machines: tree ## six machines hand mail over for ten minutes while they and their database are killed and cut off
	@MACHINES_SECONDS=600 tests/e2e/run tests/e2e/node/test_machines.py -k test_machines -s

once: tree ## the story of one message for two, STORIES times on each database, with kills and failovers
	@STORIES=$(or $(STORIES),10000) tests/e2e/run tests/e2e/filing/test_once.py -s

upgrades: tree ## 50 upgrades and downgrades at random under load, versions that cannot begin, and the wait of clients
	@UPGRADES=$(or $(UPGRADES),50) UPGRADE_WAITING=20000 tests/e2e/run tests/e2e/supervisor/test_upgrade_serving.py tests/e2e/supervisor/test_upgrade_gap.py -s

model-handover: ## every state of packages between nodes, with more faults than make test has; a quarter of an hour
	@tests/model/handover/run long

model: tree ## ten million random events against the queue manager; two minutes
	@tests/model/run

world: tree ## simulated worlds with new seeds for T seconds, each twice; SEED=N: that one, with its log
	@tests/world/run build/tests/world/world $(if $(SEED),--seed=$(SEED),--seconds=$(T)) -- $(WORLD)

world-finds: tree ## old faults in simulated worlds, until a judge notices; FINDS="--only TEXT --seeds N"
	@tests/world/finds/run build --page tests/world/pages/finds.md $(FINDS)

world-long: tree ## 100 simulated years and 10^7 messages, in pieces that add up: LONG="--seconds 3600 --jobs 2"
	@tests/world/long build/tests/world/world --totals build/world-long.jsonl $(LONG)

mutants: ## checks for durability and security are taken away in turn, then drawn: two hours, on from where they ended
	@tests/mutants/run --resume
	@$(MAKE) drawn MINUTES=$(or $(MINUTES),100)

drawn: ## slips drawn from the syntax, for MINUTES, on from where it ended: which does no test notice? DRAWN="--folder queue"
	@tests/mutants/draw --minutes $(or $(MINUTES),120) $(DRAWN)

reproducible: ## build what is committed twice, elsewhere, and compare what is installed
	@tools/check-reproducible

fuzz: ## search for inputs that break a parser or an engine, T seconds each
	@tools/fuzz $(T)

install: tree ## install below DESTDIR, prefix as given; submit_group=GROUP: a set-group-ID sendmail
	@meson configure build -Dprefix=$(prefix) $(if $(submit_group),-Dsubmit_group=$(submit_group))
	@ninja -C build
	@DESTDIR=$(DESTDIR) meson install -C build --no-rebuild

uninstall: by-files ## remove what "make install" put below DESTDIR; no mail, no configuration
	@meson configure build -Dprefix=$(prefix)
	@DESTDIR=$(DESTDIR) tools/uninstall build

deb: ## build the Debian packages, below build-deb/
	@tools/install-packages build deb
	@tools/deb

fresh: ## "make run" and a part of "make test" in a minimal Debian, as root and as another user
	@tools/fresh $(if $(FULL),--full)

clean: ## remove what was built
	rm -rf build build-test build-clang build-clang-whole build-fuzz build-coverage build-mutants build-drawn build-finds build-deb

help: ## this text
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 22
