package columns

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Plain returns a text that is safe to print on a terminal. Names can come from any user that may create a collection,
// and a control character in one could change the screen. Line ends and tabs stay; other control characters are escaped
// as in JSON, so that JSON remains valid. Bytes that are not UTF-8 become U+FFFD.
func Plain(text string) string {
	if strings.IndexFunc(text, isControl) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isControl reports whether a terminal interprets a character instead of showing it: C0, DEL, C1, and characters
// that change the direction of writing or end a line.
func isControl(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ' || r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// plainWriter writes each text to another writer, with control characters escaped as by Plain.
type plainWriter struct{ to io.Writer }

// PlainWriter returns a writer for a terminal: control characters in texts written to it are escaped, as by Plain.
func PlainWriter(w io.Writer) io.Writer { return plainWriter{Raw(w)} }

// Raw returns the writer behind a PlainWriter, for output that must not be escaped: data, and the colours of a
// terminal.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(plainWriter); ok {
		return p.to
	}
	return w
}

func (p plainWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.to, Plain(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
