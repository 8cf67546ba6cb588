package tracing

import (
	"encoding/hex"
	"strings"

	"github.com/cantledb/cantle/bson"
)

// parent is the trace context that a client sent with a command: its span is the parent of the command's span.
type parent struct {
	trace   [16]byte
	span    [8]byte
	sampled bool
}

// traceparentLen is the length of a traceparent header of version 00, and version00 the prefix of that version.
const (
	traceparentLen = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	version00      = "00-"
)

// contextOf finds the client's trace context in the comment of a command: in a field traceparent, or in a text that
// is or contains a traceparent, such as "checkout traceparent=00-…-01".
func contextOf(comment bson.Value) (p parent, ok bool) {
	if d, isDoc := comment.Doc(); isDoc {
		comment = d.Get("traceparent")
	}
	text, ok := comment.Str()
	if !ok {
		return p, false
	}
	for {
		at := strings.Index(text, version00)
		if at < 0 || len(text)-at < traceparentLen {
			return p, false
		}
		if p, ok = parseParent(text[at : at+traceparentLen]); ok {
			return p, true
		}
		text = text[at+len(version00):]
	}
}

// parseParent reads a traceparent of version 00. Source: "Trace Context", 3.2.
func parseParent(text string) (p parent, ok bool) {
	if text[35] != '-' || text[52] != '-' {
		return p, false
	}
	var flags [1]byte
	for _, part := range []struct {
		to   []byte
		from string
	}{{p.trace[:], text[3:35]}, {p.span[:], text[36:52]}, {flags[:], text[53:55]}} {
		if part.from != strings.ToLower(part.from) {
			return p, false
		}
		if _, err := hex.Decode(part.to, []byte(part.from)); err != nil {
			return p, false
		}
	}
	p.sampled = flags[0]&1 != 0
	return p, p.trace != [16]byte{} && p.span != [8]byte{}
}
