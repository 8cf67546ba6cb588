package casefile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cantledb/cantle/collection/release"
)

// releasesKey is the key of the argument by which a case lists the releases of MongoDB for which it holds.
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

// Name returns the name of the case's subtest: the file with the line, and with the release of this run if the case
// names releases.
func (c *Case) Name(file string) string {
	name := fmt.Sprintf("%s:%d", file, c.Line)
	if c.releases != nil {
		name += "@" + c.release.String()
	}
	return name
}

// ignored reports whether a handler has ignored the release of a case that names releases: it has not called Release.
func (c *Case) ignored() bool { return c.releases != nil && !c.asked }

// parseReleases parses a list of MongoDB's releases, separated by blanks; "8.0+" stands for 8.0 and all later ones of
// the releases that servers can report (release.Offered). The result is in ascending order, without duplicates. Errors:
// a release that servers cannot report; no release.
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
