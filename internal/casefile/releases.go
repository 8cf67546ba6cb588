package casefile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cantledb/cantle/collection/release"
)

// releasesKey is the argument that lists the releases for which a case holds.
const releasesKey = "releases"

// Release returns the release of MongoDB at which the case is run: release.Default, unless the case names
// others. A handler of a case that names releases must call it.
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

// Name returns the name of the case as a test: its file with the line, and with the release if the case names
// releases.
func (c *Case) Name(file string) string {
	name := fmt.Sprintf("%s:%d", file, c.Line)
	if c.releases != nil {
		name += "@" + c.release.String()
	}
	return name
}

// ignored reports whether the case names releases and its handler has not called Release.
func (c *Case) ignored() bool { return c.releases != nil && !c.asked }

// parseReleases parses releases, separated by blanks; "8.0+" is 8.0 and all later ones. Errors: an unknown
// release.
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
