# The README's commands, and what maintainers need besides. All but console, lint
# and gosec need nothing but Go.

GO ?= go
export CGO_ENABLED ?= 0
# Gin's MessagePack, which nothing uses, takes longer to compile than any other package.
export GOFLAGS := $(filter-out -tags=nomsgpack,$(GOFLAGS)) -tags=nomsgpack
# A count, as a time now and then ends a run with "context deadline exceeded".
FUZZTIME ?= 50000x
FUZZBUILD ?= -fuzz=.
BENCHTIME ?= 3x
PACKAGES ?= ./...
CRASHES ?= 100
EXAMPLES ?= 50
FAILOVERS ?= 100
KEYS ?= 100000
HISTORIES ?= 1000000
SOAK ?= 1h
INDEXED ?= 1h
IMAGE ?= marquee:latest
# The number of the release, if its tag (v1.0.0) is that of the commit.
VERSION ?= $(patsubst v%,%,$(shell git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null || echo dev))
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOSEC = github.com/securego/gosec/v2/cmd/gosec@v2.30.0
# Code of tests, and generators that maintainers run, meet no hostile input.
GOSEC_UNCHECKED = integration engine/store/storetest resources/asset/assettest resources/location/generate auth/commonpasswords/generate docs
# G104 (unhandled errors) does not know methods that never fail, such as those of
# strings.Builder in a type that embeds it: most of what it reports.
GOSEC_RULES = -exclude=G104
OASDIFF = github.com/oasdiff/oasdiff@v1.35.0
# The OpenAPI document of the last release.
RELEASED = integration/testdata/openapi-v1.json.gz
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.1.4

.PHONY: run build console release reproducible image test whole race lint gosec vuln compat release-document fuzz bench bench-peers crash reloads siege soak changes interference console-pages timing former failover followers index schemathesis histories lists nightly mongod mongod-image proxy-image clean

run: ## start the service on the embedded store, with demonstration data
	@echo "The first build takes a few minutes; later ones take seconds."
	$(GO) run ./cmd/marquee serve --demo

build: ## bin/marquee, static
	$(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/marquee ./cmd/marquee

console: console/web/node_modules ## console/dist of console/web, byte for byte; needs Node.js 20 with npm
	cd console/web && npm run --silent check && npm run --silent build

console/web/node_modules: console/web/package-lock.json
	cd console/web && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

# Each binary depends on the commit, the number and the version of Go alone.
release: ## the binaries of a release, static, and their SHA-256 checksums, in dist; VERSION is its number
	@echo '$(VERSION)' | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?' || { echo 'The commit has no tag of a release, or there are changes ($(VERSION)): see docs/contributing/releasing.md'; exit 1; }
	rm -rf dist
	for platform in $(PLATFORMS); do \
		system=$${platform%/*} architecture=$${platform#*/}; \
		GOOS=$$system GOARCH=$$architecture $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' \
			-o dist/marquee-$(VERSION)-$$system-$$architecture ./cmd/marquee || exit 1; \
	done
	cd dist && sha256sum marquee-* >SHA256SUMS && cat SHA256SUMS

# EMPTY=1 compiles all packages twice, in caches of their own.
reproducible: ## builds the commit in two folders, as a release, and compares the binaries
	@set -e; work=$$(mktemp -d); trap 'chmod -R u+w "$$work" && rm -rf "$$work"' EXIT; \
	for folder in one another/folder; do \
		mkdir -p "$$work/$$folder"; git archive HEAD | tar -x -C "$$work/$$folder"; \
		$(if $(EMPTY),GOCACHE="$$work/$$folder/cache") $(MAKE) -s -C "$$work/$$folder" release VERSION=0.0.0-rc.1 PLATFORMS='$(PLATFORMS)' >/dev/null; \
	done; \
	cmp "$$work/one/dist/SHA256SUMS" "$$work/another/folder/dist/SHA256SUMS"; \
	cat "$$work/one/dist/SHA256SUMS"; \
	for binary in "$$work"/one/dist/marquee-*-"$$($(GO) env GOOS)-$$($(GO) env GOARCH)"; do test "$$("$$binary" version)" = 0.0.0-rc.1; done

image: export VERSION := $(VERSION)
image: ## the container image IMAGE, of a binary for Linux; needs Docker, pulls nothing
	GOOS=linux $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/image/marquee ./cmd/marquee
	deploy/image bin/image/marquee $(IMAGE)

# The packages that take longest begin first, lest one of them runs alone at the end.
test: ## each promise that this machine can test, with small numbers; TESTFLAGS adds flags of go test
	@$(GO) run ./integration/gotest -short -timeout=45m $(TESTFLAGS) ./integration ./integration/program ./...

whole: ## all tests that this machine can run, with large numbers and passwords that cost what they do in a service
	@$(GO) run ./integration/gotest -count=1 -timeout=180m $(TESTFLAGS) ./...

# SQLite's own code, which is generated, is compiled without the detector, which would
# watch each byte of the memory of a connection. That one goroutine at a time uses a
# connection is seen in the code that calls it.
race: ## the tests of PACKAGES under the race detector, which needs a C compiler
	@CGO_ENABLED=1 $(GO) run ./integration/gotest -race -gcflags='github.com/ncruces/go-sqlite3-wasm/...=-race=false' -timeout=120m $(TESTFLAGS) $(PACKAGES)

lint: ## formatting, vet, staticcheck, and the types of the console where Node.js is installed
	@files=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$files" ]; then echo "not formatted: $$files"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@if command -v npm >/dev/null; then $(MAKE) -s console/web/node_modules && cd console/web && npm run --silent check; \
	else echo "SKIPPED the types of the console: there is no Node.js with npm"; fi

gosec: ## patterns of insecure code; explained exceptions have a comment "#nosec RULE -- reason"
	$(GO) run $(GOSEC) -quiet -nosec-require-rules -nosec-require-justification $(GOSEC_RULES) $(addprefix -exclude-dir=,$(GOSEC_UNCHECKED)) ./...

vuln: ## known vulnerabilities, where their database can be reached
	$(GO) run $(GOVULNCHECK) ./...

compat: ## the OpenAPI document takes back nothing that the one of the last release has
	@mkdir -p .cache/compat
	@gzip -dc $(RELEASED) >.cache/compat/released.json
	@$(GO) run ./cmd/marquee openapi --all >.cache/compat/current.json
	$(GO) run $(OASDIFF) breaking --fail-on WARN --severity-levels $(dir $(RELEASED))openapi-severity.txt --format singleline .cache/compat/released.json .cache/compat/current.json

release-document: compat ## keep the OpenAPI document as that of the last release
	@gzip -9 -n -c .cache/compat/current.json >$(RELEASED)

# Instrumented for coverage, all dependencies are compiled again, which takes minutes. FUZZBUILD=
# leaves that out: a few thousand random inputs find as much without guidance.
fuzz: ## each fuzz target for FUZZTIME
	@set -e; work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' ./* | sed 's|/[^/]*:func | |' | sort >"$$work/targets"; test -s "$$work/targets"; \
	for package in $$(cut -d ' ' -f 1 "$$work/targets" | uniq); do \
		$(GO) test -vet=off -ldflags=-w -c $(FUZZBUILD) -o "$$work/fuzz.test" "$$package"; \
		for target in $$(sed -n "s|^$$package ||p" "$$work/targets"); do \
			echo "$$package $$target"; \
			(cd "$$package" && "$$work/fuzz.test" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 10x -test.fuzzcachedir "$$($(GO) env GOCACHE)/fuzz/$$target"); \
		done; \
	done

bench: ## the ratios of docs/contributing/benchmarks.md
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) -timeout 60m ./integration/bench

bench-peers: ## compare with PocketBase, Parse Server and Eve on this machine (docs/contributing/peers.md); PEERSFLAGS adds flags
	$(GO) run ./integration/bench/peers -page docs/contributing/peers.md $(PEERSFLAGS)

# These tests wait for disks, leases and starts rather than for processors.
crash: ## kill the process a hundred times under load, and let its disk fail ten times in each way; KEYS requests with idempotency keys
	MARQUEE_CRASHES=$(CRASHES) MARQUEE_KEYS=$(KEYS) $(GO) run ./integration/gotest -p=3 -count=1 -parallel=6 -run='Crash|FailingDisk|NoResultOfAFailedCommit' -timeout=90m ./integration/concurrency ./integration/reload ./integration/program

reloads: ## change schemas for five minutes while clients write, on each store
	MARQUEE_RELOADS=5m $(GO) test -count 1 -v -run 'ReloadsOfModel' -timeout 30m ./integration/reload

siege: ## attack the service beside an honest client, on each store, and send it more than it has memory for; judges memory and times
	MARQUEE_SIEGE=1 MARQUEE_SERIES=1000000 $(GO) test -count 1 -v -p 1 -run 'TestSeriesFromTheStart|TestSiege|TestSegmentsMemory|TestUploadMemory|TestCopyMemory|TestGoneServer|TestThousandStreams|TestSlowReaders|TestResetTime|TestScrapeTime' -timeout 60m ./integration/siege ./integration/program ./integration/feed ./command/metrics

soak: ## load the service for SOAK on each store, beside reloads, backups, restarts and elections: memory, files, goroutines, log and times stay the same
	MARQUEE_SOAK=$(SOAK) MARQUEE_SIEGE=1 $(GO) test -count 1 -v -run 'TestSoak' -timeout 600m ./integration/siege

changes: ## a million documents against what is said of random changes of schemas, and writes of objects that are older than the rules of their types
	MARQUEE_CHANGES=40000 MARQUEE_TIGHTENED=200000 $(GO) test -count 1 -v -run 'TestRandomChanges|TestTightened' -timeout 60m ./engine/schema/diff ./engine/write

interference: ## a million requests to each of two worlds that their sender cannot distinguish, on each store
	MARQUEE_INTERFERENCE=1000000 MARQUEE_VISIBILITY=3000 $(GO) test -count 1 -v -run 'TestNonInterference|TestVisibilityModel' -timeout 600m ./integration/access

console-pages: ## the pages of the console for every type, 1,000 random forms, and the time of a list of a million; needs Chromium and npm
	MARQUEE_PAGES=all MARQUEE_FORMS=1000 $(GO) test -count 1 -v -run '^Test(ConsoleEveryPage|Forms)$$' -timeout 120m ./integration/browser
	MARQUEE_SIEGE=1 MARQUEE_ROWS=1000000 $(GO) test -count 1 -v -run '^TestConsoleTimes$$' -timeout 60m ./integration/browser

timing: ## measure that refusals take the same time, whatever they refuse; needs a machine that does nothing else
	MARQUEE_TIMING=1 $(GO) test -count 1 -v -run 'TestTiming' -timeout 60m ./integration/access

former: ## servers of the last release and of this version are replaced by one another on one database, under load; needs a mongod
	MARQUEE_REQUIRE=mongodb MARQUEE_STORES=mongodb MARQUEE_FORMER=release $(GO) test -count 1 -v -run FormerVersion ./integration/program

failover: ## kill the primary of a replica set a hundred times under load; KEYS requests with idempotency keys; needs a mongod
	MARQUEE_REQUIRE=mongodb MARQUEE_FAILOVERS=$(FAILOVERS) MARQUEE_KEYS=$(KEYS) $(GO) run ./integration/gotest -count=1 -run=Failover -timeout=120m ./integration/concurrency

followers: ## a million changes on each store, followed by readers while the server and the primary are killed
	MARQUEE_FEED=1000000 $(GO) test -count 1 -v -timeout 600m -run TestFollowersOfKilled ./integration/feed

index: ## an index that marquee tail feeds equals the service after INDEXED (1h) of kills of the server and of tail, on both stores at once
	MARQUEE_INDEXED=$(INDEXED) $(GO) test -count 1 -v -timeout 600m -run TestCrashesBesideIndex ./integration/program

schemathesis: ## requests generated from the OpenAPI document, EXAMPLES for each operation, with another seed each time
	MARQUEE_REQUIRE=schemathesis MARQUEE_SCHEMATHESIS=$(EXAMPLES) MARQUEE_SEED=$${MARQUEE_SEED:-$$(date +%s)} $(GO) test -count 1 -v -timeout 600m ./integration/schemathesis

histories: ## HISTORIES operations of 64 clients on a few objects while the program is killed, and a tenth without a primary, judged for linearizability and isolation
	MARQUEE_HISTORIES=$(HISTORIES) $(GO) test -count 1 -v -timeout 600m -run 'TestHistories' ./integration/concurrency

lists: ## BenchmarkList with 2,000,000 objects
	MARQUEE_BENCH_OBJECTS=2000000 $(GO) test -run '^$$' -bench 'BenchmarkList$$' -benchtime 1x -timeout 60m ./integration/bench

nightly: gosec whole console-pages race siege soak reloads crash former failover followers index histories changes interference timing schemathesis lists fuzz ## the suites that take longer than a change can wait
	$(MAKE) reproducible EMPTY=1 PLATFORMS='linux/amd64 darwin/arm64'

mongod: ## a mongod for the tests, in .cache
	integration/mongodb/fetch.sh

mongod-image: mongod ## an image of it, for the tests in containers; needs Docker, pulls nothing
	integration/containers/mongod/build.sh

proxy-image: ## an image of the installed HAProxy, for the tests in containers; needs Docker, pulls nothing
	integration/containers/haproxy/build.sh

clean:
	rm -rf bin dist
