package site

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// page is one parsed page. Its headings have identifiers, and its links lead to the rendered pages.
type page struct {
	name     string // of the file, without extension
	title    string
	source   []byte
	root     ast.Node
	headings []heading // of level 2
}

// heading is a heading within a page.
type heading struct{ ID, Title string }

// file returns the path of the rendered page.
func (p *page) file() string {
	if p.name == indexPage {
		return "index.html"
	}
	return p.name + ".html"
}

// parsePages parses all pages, in alphabetical order of their names.
// Errors: a page without a title.
func parsePages(from fs.FS) ([]*page, error) {
	names, err := fs.Glob(from, "*.md")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var pages []*page
	for _, name := range names {
		source, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		p := &page{name: strings.TrimSuffix(name, ".md"), source: source, root: markdown.Parser().Parse(text.NewReader(source))}
		p.identify()
		p.lead()
		if p.title == "" {
			return nil, fmt.Errorf("docs/%s has no heading of level 1", name)
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// identify sets the identifiers of headings to those that GitHub gives them, so that the same links work on both.
func (p *page) identify() {
	used := map[string]int{}
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		h, ok := n.(*ast.Heading)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		title := textOf(h, p.source)
		id := slug(title)
		if n := used[id]; n > 0 {
			used[id]++
			id = fmt.Sprintf("%s-%d", id, n)
		} else {
			used[id] = 1
		}
		h.SetAttributeString("id", []byte(id))
		switch {
		case h.Level == 1 && p.title == "":
			p.title = title
		case h.Level == 2:
			p.headings = append(p.headings, heading{id, title})
		}
		return ast.WalkSkipChildren, nil
	})
}

// slug returns the identifier of a heading: its letters, digits, underscores and hyphens in lower case, and a hyphen
// for each space.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// lead changes the links of a page: those to other pages lead to the rendered pages, those to other files of the
// repository to the repository.
func (p *page) lead() {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok && entering {
			l.Destination = []byte(destination(string(l.Destination)))
		}
		return ast.WalkContinue, nil
	})
}

// destination returns the destination on the site of a link in a page.
func destination(to string) string {
	file, anchor, anchored := strings.Cut(to, "#")
	if file == "" || strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return to
	}
	full := path.Join("docs", file)
	inside, below := strings.CutPrefix(full, "docs/")
	switch {
	case !below:
		file = inRepository(full)
	case inside == indexPage+".md":
		file = "index.html"
	case path.Ext(inside) == ".md" && !strings.Contains(inside, "/"):
		file = strings.TrimSuffix(inside, ".md") + ".html"
	default:
		file = inside
	}
	if anchored {
		file += "#" + anchor
	}
	return file
}

// firstLink returns the first link below a node, nil without one.
func firstLink(n ast.Node) (found *ast.Link) {
	_ = ast.Walk(n, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok {
			found = l
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return found
}

// textOf returns the text of a node without its markup. Lines of code keep their ends.
func textOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			lines := n.Lines()
			for i := range lines.Len() {
				at := lines.At(i)
				b.Write(at.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}
