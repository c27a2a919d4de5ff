# Every folder with a go.mod is a module of its own and is built alone, as its users build it: GOWORK=off.
SHELL := bash
.DEFAULT_GOAL := help
export GOWORK := off

FUZZTIME ?= 20s
ROUNDS ?= 4

.PHONY: test
test: ## run every module's tests, with the race detector; those that count allocations without it
	@.ci/each -j 2 $(CURDIR)/.ci/test

.PHONY: lint
lint: ## gofmt, go vet, staticcheck, tidy go.mod files, the root module's requirements
	@.ci/lint

.PHONY: consumer
consumer: ## check that requiring the root module changes nothing else in a consumer's build
	@.ci/consumer

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what every module calls, with the newest Go
	@.ci/each go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (20s)
	@.ci/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## measure everything beside its rivals, for ROUNDS (4) rounds, or PART of it; benchmarks/METHOD.md says how
	@ROUNDS=$(ROUNDS) benchmarks/run

.PHONY: bench-check
bench-check: ## fail if a hot path allocates more, asks Redis more, or takes several times as long
	@cd benchmarks && go run ./guard

.PHONY: tidy
tidy: ## go mod tidy in every module: a requirement of the root is one of all the others
	@.ci/each go mod tidy

.PHONY: work
work: ## write go.work with every module, for editors; git ignores it
	@rm -f go.work go.work.sum
	@env -u GOWORK go work init $$(.ci/modules)

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\): ## /  make \1	/p' Makefile | expand -t 20
