package manual

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/serve/flags"
)

// sample returns a command with all the cases that need escaping.
func sample() flags.Command {
	f := flags.New("try")
	f.String("out", "./x", "`folder` to write to. Made when it is missing")
	f.String("kind", "a", "`kind` of a thing: a or b; it's [one] of *these*")
	flags.Choose(f, "kind", "a", "b")
	f.IntP("j", "j", 4, "so `many` at a time, and at such a length that it would not fit beside a completion")
	f.Int("jobs", 4, "so `many` at a time, and at such a length that it would not fit beside a completion")
	f.Bool("quiet", false, "say nothing | little")
	return flags.Command{Name: "try", Args: "URI [file]", Summary: "try a thing", Groups: []flags.Group{{Title: "Flags", Flags: f}},
		Help: "First line\n.second line_with_a\\backslash.\n\n  as it is\n    and deeper\n\n'Third' paragraph.\n"}
}

func TestMarkdown(t *testing.T) {
	want := "- [`cantle try`](#cantle-try): try a thing\n\n## cantle try\n\n```text\ncantle try [flags] URI [file]\n```\n\n" +
		"First line\n.second line\\_with\\_a\\backslash.\n\n```text\nas it is\n  and deeper\n```\n\n'Third' paragraph.\n\n" +
		"| flag | default | |\n|---|---|---|\n" +
		"| `-j, --jobs many` | `4` | so many at a time, and at such a length that it would not fit beside a completion |\n" +
		"| `--kind kind` | `a` | kind of a thing: a or b; it's [one] of \\*these\\* |\n" +
		"| `--out folder` | `./x` | folder to write to. Made when it is missing |\n" +
		"| `--quiet` |  | say nothing \\| little |\n"
	if got := Markdown([]flags.Command{sample()}); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestPages(t *testing.T) {
	pages := Pages(Edition{"1.2.3", "2026-01-02"}, []flags.Command{sample()})
	if len(pages) != 2 || pages[0].File != "cantle.1" || pages[1].File != "cantle-try.1" {
		t.Fatalf("%+v", pages)
	}
	if want := ".SH SEE ALSO\n.BR cantle\\-try (1)\n"; !strings.HasSuffix(pages[0].Text, want) {
		t.Errorf("got\n%s", pages[0].Text)
	}
	want := `.TH CANTLE\-TRY 1 "2026-01-02" "cantle 1.2.3" "Cantle"
.SH NAME
cantle\-try \- try a thing
.SH SYNOPSIS
.B cantle try
[flags] URI [file]
.SH DESCRIPTION
First line
\&.second line_with_a\ebackslash.
.PP
.in +4n
.nf
as it is
  and deeper
.fi
.in
.PP
\(aqThird\(aq paragraph.
.SH OPTIONS
.TP
\fB\-j\fR, \fB\-\-jobs\fR \fImany\fR
so many at a time, and at such a length that it would not fit beside a completion (default 4)
.TP
\fB\-\-kind\fR \fIkind\fR
kind of a thing: a or b; it\(aqs [one] of *these* (default a)
.TP
\fB\-\-out\fR \fIfolder\fR
folder to write to. Made when it is missing (default ./x)
.TP
\fB\-\-quiet\fR
say nothing | little
.SH EXIT STATUS
0 for success, 1 for an error, 2 for wrong arguments.
.SH SEE ALSO
.BR cantle (1)
`
	if pages[1].Text != want {
		t.Errorf("got\n%s", pages[1].Text)
	}
	if got := troffText("a…~"); got != `a\[u2026]\(ti` {
		t.Error(got)
	}
}

func TestBrief(t *testing.T) {
	got := map[string]string{}
	for _, x := range flagsOf(sample()) {
		got[x.Names[0]] = brief(x)
	}
	for name, want := range map[string]string{"--out": "folder to write to", "--kind": "kind of a thing", "--quiet": "say nothing | little",
		"-j": "so many at a time, and at such a length that it would not f…"} {
		if got[name] != want {
			t.Errorf("%s: %q", name, got[name])
		}
	}
}
