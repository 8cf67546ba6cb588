package tidy

import (
	"go/build/constraint"
	"slices"
	"strings"
)

// platforms are the words in build constraints that mean operating systems, and not build tags.
var platforms = []string{"darwin", "freebsd", "linux", "unix", "windows"}

// buildTags lists the files whose code depends on a build tag, each with the difference. A file with a tag of the
// tests may add checks, but must not change the reply of a command.
var buildTags = map[string]string{
	"cmd/cantle/tikvengine/open.go":             "cgo, or a system other than macOS: the engine TiKV is there",
	"cmd/cantle/tikvengine/open_darwin.go":      "without cgo on macOS: --storage tikv:// is refused",
	"cmd/cantle/tikvengine/open_test.go":        "cgo, or a system other than macOS: the engine TiKV is tested",
	"collection/exec/alloc_test.go":             "without invariants: counts allocations, which the checks add to",
	"collection/index/norace_test.go":           "without race: allocations are counted",
	"collection/index/race_test.go":             "race: allocations are not counted",
	"collection/order/norace_test.go":           "without race: allocations are counted",
	"collection/order/race_test.go":             "race: allocations are not counted",
	"collection/shard/norace_test.go":           "without race: allocations are counted",
	"collection/shard/race_test.go":             "race: allocations are not counted",
	"collection/update/norace_test.go":          "without race: allocations are counted",
	"collection/update/race_test.go":            "race: allocations are not counted",
	"compat-tests/faults/programme/race_off.go": "without race: a run does what is due",
	"compat-tests/faults/programme/race_on.go":  "race: a run does a tenth of it",
	"compat-tests/rig/harness/tags_off.go":      "without invariants: tests start the server as it is released",
	"compat-tests/rig/harness/tags_on.go":       "invariants: tests start the server with the tag",
	"serve/daemon/cache_cgo.go":                 "cgo: the block cache lies outside of Go's heap, so GOMEMLIMIT leaves it out",
	"serve/daemon/cache_go.go":                  "without cgo: the block cache lies in Go's heap",
	"storage/writebuf/guard_off.go":             "without invariants: iterators as they are",
	"storage/writebuf/guard_on.go":              "invariants: keys and values of an iterator are overwritten at its next step; disorder and use after Close panic",
	"storage/writebuf/poison_off.go":            "without invariants: released memory keeps its content",
	"storage/writebuf/poison_on.go":             "invariants: released memory is overwritten",
	"wire/invariants_off.go":                    "without invariants: released frames keep their content",
	"wire/invariants_on.go":                     "invariants: released frames are overwritten",
	"wire/server/alloc_test.go":                 "without invariants: counts allocations, which the checks add to",
}

// checkBuildTags compares the files that have build tags with the list.
func checkBuildTags(r *repo, report reporter) {
	for _, f := range r.files {
		tagged := false
		for line := range strings.Lines(string(f.source)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "package ") {
				break
			}
			if !constraint.IsGoBuild(line) {
				continue
			}
			x, err := constraint.Parse(line)
			if err != nil {
				report(f.path, err.Error())
				continue
			}
			own := false
			x.Eval(func(tag string) bool {
				own = own || !slices.Contains(platforms, tag)
				return true
			})
			if tagged = tagged || own; own && buildTags[f.path] == "" {
				report(f.path, line+" stands in no row of scripts/tidy/buildtags_test.go")
			}
		}
		if !tagged && buildTags[f.path] != "" {
			report("scripts/tidy/buildtags_test.go", f.path+" has no build tag any more; take its row out")
		}
	}
}
