package columns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\n":                   "a\tb\n",
		"é\u00a0日":                 "é\u00a0日",
		"\x1b]0;x\x07":             `\u001b]0;x\u0007`,
		"a\rb\x00\x7f":             `a\u000db\u0000\u007f`,
		"\u009b31m\u202e\u2066abc": `\u009b31m\u202e\u2066abc`,
		"\x9b":                     "\ufffd",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	var out bytes.Buffer
	w := PlainWriter(PlainWriter(&out))
	name := "\u009b\u202ename"
	text, _ := json.Marshal(name)
	fmt.Fprintf(w, "%s", text)
	var back string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != name || bytes.ContainsRune(out.Bytes(), 0x9b) {
		t.Errorf("%q: %q, %v", out.String(), back, err)
	}
	if Raw(w) != &out || Raw(&out) != &out {
		t.Error("the writer behind is another one")
	}
	out.Reset()
	table := Table{}
	table.Row("name", " n")
	table.Row("a\nb\x1bc", "1")
	table.Print(&out)
	if got := out.String(); got != "name           n\na\\nb\\u001bc  1\n" && bytes.Count(out.Bytes(), []byte("\n")) != 2 || bytes.ContainsRune(out.Bytes(), 0x1b) {
		t.Errorf("%q", got)
	}
}
