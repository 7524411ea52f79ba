# Tools are pinned here and run by `go run pkg@version`, so that go.mod stays the product's.
GOFUMPT     = v0.12.0
STATICCHECK = v0.8.2
BUF         = v1.75.0

# What a caller may set: make test RACE=1 TESTFLAGS=-count=1, make bench BENCHTIME=5s.
RACE      ?=
TESTFLAGS ?=
BENCHTIME ?= 1s

# For one package, on a slow machine: the tests in test/ take some seven minutes on two quiet cores.
TESTLIMIT = 30m

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# A directory below plugins/policy is one guest; its .wasm is embedded by core/plugin.
EMBEDDED      := core/plugin/embedded
POLICIES      := $(notdir $(patsubst %/,%,$(dir $(wildcard plugins/policy/*/main.go))))
GUESTS        := $(POLICIES:%=$(EMBEDDED)/%.wasm)
STALE_GUESTS  := $(filter-out $(GUESTS),$(wildcard $(EMBEDDED)/*.wasm))
GUEST_SOURCES := go.mod $(shell find sdk plugins -name '*.go' -not -name '*_test.go' 2>/dev/null)

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.PHONY: help build demo test torture lint bench proto plugins clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: plugins ## build bin/rowel with the shipped plugins embedded (what plain `make` does)
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/rowel ./cmd/rowel

demo: build ## run examples/hello.sh as a job on a throw-away cluster in one process
	bin/rowel dev --port 0 -- examples/hello.sh

# The race detector is for the core's goroutines. The tests in test/ start real processes: it would only slow them.
test: plugins ## run the tests; RACE=1 adds the race detector where goroutines are ours
ifeq ($(RACE),)
	go test -timeout $(TESTLIMIT) $(TESTFLAGS) ./...
else
	go test -race -timeout $(TESTLIMIT) $(TESTFLAGS) ./core/...
	go test -timeout $(TESTLIMIT) $(TESTFLAGS) $$(go list ./... | grep -v '^github.com/rowelhq/rowel/core')
endif

torture: plugins ## power cuts, partitions and kills for up to an hour, as root
	ROWEL_TORTURE=1 go test -count=1 -timeout 90m -v -run 'Linearizable|PowerCuts' ./test

lint: plugins ## gofumpt, go vet, staticcheck, and a clean tree afterwards
	@unformatted=$$(go run mvdan.cc/gofumpt@$(GOFUMPT) -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then \
		echo "not gofumpt-clean; run: go run mvdan.cc/gofumpt@$(GOFUMPT) -w ."; echo "$$unformatted"; exit 1; \
	fi
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK) ./...
	@dirty=$$(git status --porcelain) || exit 1; \
	if [ -n "$$dirty" ]; then \
		echo "the tree is not clean: commit the changes, or ignore what was generated"; echo "$$dirty"; exit 1; \
	fi

bench: plugins ## run every benchmark; BENCHTIME=5s for steadier figures
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) \
		$$(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -r -n1 dirname | sort -u)

proto: ## generate core/wire from its .proto files
	go run github.com/bufbuild/buf/cmd/buf@$(BUF) generate

plugins: $(GUESTS) ## build the shipped plugins to WebAssembly
	@$(if $(STALE_GUESTS),rm -f $(STALE_GUESTS))

# A guest is known by the SHA-256 of its bytes: no paths and no commit in it, so that equal sources give equal bytes.
$(EMBEDDED)/%.wasm: $(GUEST_SOURCES)
	@mkdir -p $(@D)
	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w' -o $@ ./plugins/policy/$*
	@touch $@

clean: ## remove what was built
	rm -rf bin $(EMBEDDED)/*.wasm
