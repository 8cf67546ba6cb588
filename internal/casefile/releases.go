package casefile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cantledb/cantle/collection/release"
)

// releasesKey is the argument that names the releases a case holds for.
const releasesKey = "releases"

// Release is the release of MongoDB at which the case is run now: release.Default, unless it
// names others. A handler has to ask.
func (c *Case) Release() release.Release {
	c.asked = true
	return c.release
}

// Runs returns the case once for each release that it names, and itself if it names none.
func (c *Case) Runs() []*Case {
	if c.releases == nil {
		return []*Case{c}
	}
	var out []*Case
	for _, r := range c.releases {
		run := *c
		run.release, run.asked = r, false
		out = append(out, &run)
	}
	return out
}

// Name is what the case is called as a test: the name of its file with the line, and with
// the release if it names some.
func (c *Case) Name(file string) string {
	name := fmt.Sprintf("%s:%d", file, c.Line)
	if c.releases != nil {
		name += "@" + c.release.String()
	}
	return name
}

// ignored reports a case that names releases, and was run by a handler that did not ask for
// them.
func (c *Case) ignored() bool { return c.releases != nil && !c.asked }

// parseReleases reads names of releases, separated by blanks; "8.0+" is 8.0 and all after it.
// Errors: a name that is none.
func parseReleases(text string) (out []release.Release, err error) {
	for _, name := range strings.Fields(text) {
		name, later := strings.CutSuffix(name, "+")
		first, err := release.Parse(name)
		if err != nil {
			return nil, err
		}
		for _, r := range release.Offered() {
			if r == first || later && r > first {
				out = append(out, r)
			}
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return nil, fmt.Errorf("%s names none", releasesKey)
	}
	return slices.Compact(out), nil
}
