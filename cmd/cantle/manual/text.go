package manual

import (
	"strings"

	"github.com/cantledb/cantle/serve/flags"
)

// paragraphs divides a help text. An indented paragraph is printed as it is written.
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

// briefMax is the maximum length of a description beside a completion.
const briefMax = 60

// brief returns the beginning of a flag's usage, for a list.
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

// Kinds of arguments, for shells that complete them.
const (
	anything = iota
	aFile
	aFolder
	oneOf
	nothing
)

// kindOf returns the kind of a flag's value.
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

// argumentsOf returns the kind of a command's arguments, and the possible words if they are words.
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

// flagsOf returns the flags of a command in all groups.
func flagsOf(c flags.Command) (out []flags.Flag) {
	for _, g := range c.Groups {
		out = append(out, flags.List(g.Flags)...)
	}
	return out
}
