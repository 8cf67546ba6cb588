package pages

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// page is a document with its blocks.
type page struct {
	name   string // "README", "docs/start"
	server []string
	none   bool // the page needs no server
	blocks []*block
}

// block is one fenced block.
type block struct {
	line     int // of its first fence
	language string
	file     string
	uri      string
	skip     string
	output   bool
	text     string
}

// languages are the languages whose blocks run.
var languages = []string{"go", "js", "mjs", "py", "sh"}

// parse returns the page with its blocks. Errors name the line.
func parse(name, text string) (*page, error) {
	p := &page{name: name}
	var inside *block
	for i, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case inside != nil && fence:
			p.blocks = append(p.blocks, inside)
			inside = nil
		case inside != nil:
			inside.text += line + "\n"
		case fence:
			b, err := parseFence(i+1, strings.TrimLeft(strings.TrimSpace(line), "`"))
			if err == nil {
				err = p.judge(b)
			}
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
			}
			inside = b
		case strings.HasPrefix(line, "<!-- server:"):
			flags, _, _ := strings.Cut(strings.TrimPrefix(line, "<!-- server:"), "-->")
			p.server = strings.Fields(flags)
			p.none = slices.Equal(p.server, []string{"none"})
		}
	}
	if inside != nil {
		return nil, fmt.Errorf("%s:%d: the block has no end", name, inside.line)
	}
	return p, nil
}

// parseFence parses the text after a fence.
func parseFence(line int, info string) (*block, error) {
	b := &block{line: line}
	for i, w := range words(info) {
		key, value, _ := strings.Cut(w, "=")
		value = strings.Trim(value, `"`)
		to := map[string]*string{"file": &b.file, "skip": &b.skip, "uri": &b.uri}[key]
		switch {
		case i == 0:
			b.language = w
		case w == "output":
			b.output = true
		case to != nil && value != "":
			*to = value
		default:
			return nil, fmt.Errorf("%q behind a fence means nothing, or lacks its value", w)
		}
	}
	return b, nil
}

// words splits a text at blanks outside of quotes.
func words(s string) []string {
	quoted := false
	return strings.FieldsFunc(s, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}

// judge returns an error if a block of a page is not valid: its language, the words behind its fence, or its place.
// It returns nil if the block is valid.
func (p *page) judge(b *block) error {
	switch {
	case b.language == "":
		return errors.New("the block says no language; text is one")
	case b.uri != "" && b.language != "js":
		return errors.New("uri is for blocks of js")
	case b.output && b.language != "text":
		return errors.New("output is for blocks of text")
	case b.output && (len(p.blocks) == 0 || !p.blocks[len(p.blocks)-1].prints()):
		return errors.New("output stands behind a block that prints, of sh, mjs, py or go")
	case b.skip == "" && b.file == "" && b.language != "text" && !slices.Contains(languages, b.language):
		return fmt.Errorf("a block of %s does not run: give it file=NAME and use the file, or say skip=\"why\"", b.language)
	}
	return nil
}

// prints reports whether the output of a block can be compared.
func (b *block) prints() bool { return b.runs() && b.language != "js" }

// runs reports whether a block is run by itself.
func (b *block) runs() bool {
	return b.skip == "" && b.file == "" && slices.Contains(languages, b.language)
}
