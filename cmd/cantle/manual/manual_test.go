package manual

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// sample returns a command with all the cases that need escaping.
func sample() *cobra.Command {
	c := &cobra.Command{Use: "try [flags] URI [file]", Short: "try a thing", DisableFlagsInUseLine: true,
		Long: "First line\n.second line_with_a\\backslash.\n\n  as it is\n    and deeper\n\n'Third' paragraph.\n"}
	(&cobra.Command{Use: "cantle"}).AddCommand(c)
	f := c.Flags()
	f.String("out", "./x", "`folder` to write to. Made when it is missing")
	f.String("kind", "a", "`kind` of a thing: a or b; it's [one] of *these*")
	f.IntP("jobs", "j", 4, "so `many` at a time, and at such a length that it would not fit beside a completion")
	f.Bool("quiet", false, "say nothing | little")
	return c
}

func TestMarkdown(t *testing.T) {
	want := "- [`cantle try`](#cantle-try): try a thing\n\n## cantle try\n\n```text\ncantle try [flags] URI [file]\n```\n\n" +
		"First line\n.second line\\_with\\_a\\backslash.\n\n```text\nas it is\n  and deeper\n```\n\n'Third' paragraph.\n\n" +
		"| flag | default | |\n|---|---|---|\n" +
		"| `-j, --jobs many` | `4` | so many at a time, and at such a length that it would not fit beside a completion |\n" +
		"| `--kind kind` | `a` | kind of a thing: a or b; it's [one] of \\*these\\* |\n" +
		"| `--out folder` | `./x` | folder to write to. Made when it is missing |\n" +
		"| `--quiet` |  | say nothing \\| little |\n"
	if got := Markdown([]*cobra.Command{sample()}); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestPages(t *testing.T) {
	pages := Pages(Edition{"1.2.3", "2026-01-02"}, []*cobra.Command{sample()})
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
