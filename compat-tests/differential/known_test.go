package differential

import "strings"

// fault is one that is not mended yet: what differs by it is counted and not reported.
type fault struct {
	name string
	is   func(x *trial) bool
}

// known is the list of them.
var known = []fault{
	{"$mergeObjects sorts fields", func(x *trial) bool { return strings.Contains(x.words(), "$mergeObjects") }},
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
