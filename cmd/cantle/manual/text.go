package manual

import "strings"

// paragraphs divides a help text at empty lines. A paragraph that is indented keeps its line breaks.
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
