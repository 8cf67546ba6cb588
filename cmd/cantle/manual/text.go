package manual

import (
	"strings"

	"github.com/cantledb/cantle/serve/flags"
)

// paragraphs divides a help text. One that is indented stands as it is written.
func paragraphs(help string) (out []paragraph) {
	for text := range strings.SplitSeq(strings.Trim(help, "\n"), "\n\n") {
		if text = strings.Trim(text, "\n"); text != "" {
			out = append(out, paragraph{text, strings.HasPrefix(text, " ")})
		}
	}
	return out
}

// paragraph is a part of a help text.
type paragraph struct {
	text string
	asIs bool
}

// briefMax is how long a description beside a completion may be.
const briefMax = 60

// brief is the beginning of what a flag means, for a list.
func brief(x flags.Flag) string {
	text := x.Usage
	for _, end := range []string{". ", "; ", ": ", " (", ", such as "} {
		text, _, _ = strings.Cut(text, end)
	}
	if r := []rune(text); len(r) > briefMax {
		text = string(r[:briefMax-1]) + "…"
	}
	return text
}

// What an argument is, for shells that complete it.
const (
	anything = iota
	aFile
	aFolder
	oneOf
	nothing
)

// kindOf says what the value of a flag is.
func kindOf(x flags.Flag) int {
	switch {
	case x.Value == "":
		return nothing
	case x.Choices != nil:
		return oneOf
	case x.Value == "file":
		return aFile
	case x.Value == "folder":
		return aFolder
	}
	return anything
}

// argumentsOf says what the arguments of a command are, and which there are if these are
// words.
func argumentsOf(c flags.Command) (kind int, words []string) {
	switch {
	case strings.Contains(c.Args, "|"):
		return oneOf, strings.Split(strings.Trim(c.Args, "[]"), "|")
	case strings.Contains(c.Args, "file"), strings.Contains(c.Args, ".json"):
		return aFile, nil
	case strings.Contains(c.Args, "folder"):
		return aFolder, nil
	case c.Args == "":
		return nothing, nil
	}
	return anything, nil
}

// flagsOf are the flags of a command in all groups.
func flagsOf(c flags.Command) (out []flags.Flag) {
	for _, g := range c.Groups {
		out = append(out, flags.List(g.Flags)...)
	}
	return out
}
