package differential

import (
	"regexp"
	"slices"
	"strings"
)

// fault is one that is not mended yet: what differs by it is counted and not reported.
type fault struct {
	name string
	is   func(x *trial) bool
}

// numeric finds a number as a part of a path, and behind a field of $elemMatch.
var numeric = regexp.MustCompile(`"[^" ]*\.\d[^" ]*"|"\d`)

// known is the list of them.
var known = []fault{
	{"a plan from the cache that meets more rows", func(x *trial) bool { return x.got.code == 1 && strings.Contains(x.got.message, "trial") }},
	{"$lookup by a foreign path with a number", func(x *trial) bool {
		return regexp.MustCompile(`foreignField: "[^"]*\.\d`).MatchString(js(x.q.pipeline))
	}},
	{"wildcard index and a number in the path", func(x *trial) bool { return x.wildcard() && numeric.MatchString(x.words()) }},
	{"index on a position and $elemMatch", func(x *trial) bool {
		return slices.ContainsFunc(x.indexes, func(i index) bool { return numeric.MatchString(js(i.key())) }) && strings.Contains(x.words(), "$elemMatch")
	}},
	{"wildcard index and an empty name", func(x *trial) bool { return x.wildcard() && strings.Contains(js(listed(x.docs))+x.words(), `"":`) }},
	{"sortKey in a pipeline", func(x *trial) bool { return strings.Contains(x.words(), "sortKey") }},
	{"$mergeObjects sorts fields", func(x *trial) bool { return strings.Contains(x.words(), "$mergeObjects") }},
}

// wildcard reports an index of that kind.
func (x *trial) wildcard() bool {
	return slices.ContainsFunc(x.indexes, func(i index) bool { return strings.Contains(js(i.key()), "$**") })
}

// words are the question and what it was rewritten with.
func (x *trial) words() string {
	text := js(x.q.command()) + js(x.m.aside)
	for _, w := range x.writes {
		text += js(w.command)
	}
	return text
}

// knownFault is the name of the fault by which a trial differs, "" for a new one.
func knownFault(x *trial) string {
	for _, k := range known {
		if k.is(x) {
			return k.name
		}
	}
	return ""
}
