package progress

import (
	"strings"
	"testing"
	"time"
)

func TestBar(t *testing.T) {
	now := time.Unix(0, 0)
	var out strings.Builder
	p := Bar{out: &out, what: "documents", total: 20000, terminal: true, now: func() time.Time { return now }}
	p.begin()
	now = now.Add(500 * time.Millisecond)
	p.At(1000)
	if out.String() != "" {
		t.Errorf("short work shows %q", out.String())
	}
	now = now.Add(1500 * time.Millisecond)
	p.At(5000)
	if want := "25% 5000 of 20000 documents, 2500/s, 6s left"; !strings.Contains(out.String(), want) {
		t.Errorf("%q, want %q", out.String(), want)
	}
	p.End()
	p = Bar{out: &out, what: "documents", now: func() time.Time { return now }}
	p.begin()
	now = now.Add(6 * time.Second)
	out.Reset()
	p.At(600)
	if out.String() != "600 documents, 100/s\n" {
		t.Errorf("%q", out.String())
	}
}
