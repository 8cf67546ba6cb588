package site

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// section is a part of a page under one heading, as the search finds it. The names of its fields are short because
// the browser loads all sections.
type section struct {
	Page    string `json:"p"` // the file of the page
	Title   string `json:"t"` // of the page
	Heading string `json:"h"`
	ID      string `json:"i"` // of the heading, "" for the beginning of the page
	Text    string `json:"x"`
}

// sections divides a page at its headings.
func (p *page) sections() []section {
	all := []section{{Page: p.file(), Title: p.title, Heading: p.title}}
	var b strings.Builder
	end := func() {
		all[len(all)-1].Text = strings.Join(strings.Fields(b.String()), " ")
		b.Reset()
	}
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			b.WriteString(textOf(n, p.source) + " ")
			continue
		}
		if h.Level > 1 {
			end()
			id, _ := h.AttributeString("id")
			name, _ := id.([]byte)
			all = append(all, section{Page: p.file(), Title: p.title, Heading: textOf(h, p.source), ID: string(name)})
		}
	}
	end()
	return all
}
