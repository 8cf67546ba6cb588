package site

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"

	"github.com/cantledb/cantle/docs"
)

// assets are the template of the pages, their style, their scripts and the icon.
//
//go:embed assets
var assets embed.FS

// indexPage is the name of the page that lists all pages.
const indexPage = "README"

// Options are the differences between the copies of the documentation.
type Options struct {
	// Version is printed on each page.
	Version string
	// Console reports that the pages are below the console, to which they then link.
	Console bool
}

// rendered holds the values that the template prints.
type rendered struct {
	Options
	Name     string // of the page's file, without extension
	Title    string
	Groups   []group
	Body     template.HTML
	Headings []heading
	Source   string // address of the Markdown
}

// Render renders all pages. The result has the content of each file by its path below the root of the site.
// Errors: a page without a title; a page that the index does not list.
func Render(o Options) (map[string][]byte, error) {
	pages, err := parsePages(docs.Files)
	if err != nil {
		return nil, err
	}
	groups, err := navigation(pages)
	if err != nil {
		return nil, err
	}
	layout, err := template.ParseFS(assets, "assets/page.html")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var index []section
	for _, p := range pages {
		var body, out bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.source, p.root); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		err := layout.Execute(&out, rendered{Options: o, Name: p.name, Title: p.title, Groups: groups, Body: template.HTML(body.String()),
			Headings: p.headings, Source: inRepository("docs/" + p.name + ".md")})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		files[p.file()] = out.Bytes()
		index = append(index, p.sections()...)
	}
	list, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	// A script and not a JSON file: a page that was opened from a folder may load only scripts.
	files["search-index.js"] = fmt.Appendf(nil, "window.cantleSections = %s;\n", list)
	return files, copyOthers(files)
}

// copyOthers adds the files that are not rendered: assets, pictures and example files.
func copyOthers(files map[string][]byte) error {
	copyFrom := func(from fs.FS, skip string) error {
		return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) == skip {
				return err
			}
			files[name], err = fs.ReadFile(from, name)
			return err
		})
	}
	own, err := fs.Sub(assets, "assets")
	if err == nil {
		err = copyFrom(own, ".html")
	}
	if err == nil {
		err = copyFrom(docs.Files, ".md")
	}
	return err
}

// markdown parses and renders pages as GitHub does, except that HTML in them is left out.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Strikethrough, extension.Linkify,
	extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)))) // style attributes would be against the policy

// repository is the address of the sources.
const repository = "https://github.com/cantledb/cantle"

// inRepository returns the address of a file of the repository, by its path from the root.
func inRepository(file string) string { return repository + "/blob/main/" + file }

// link is one entry of the navigation.
type link struct{ File, Title string }

// group is a heading of the navigation with its entries.
type group struct {
	Title string
	Links []link
}

// navigation reads the groups from the index page: its headings of level 2, and the first link of each list item.
// Errors: a page that the index does not list.
func navigation(pages []*page) ([]group, error) {
	var groups []group
	listed := map[string]bool{indexPage: true}
	for _, p := range pages {
		if p.name != indexPage {
			continue
		}
		for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
			switch n := n.(type) {
			case *ast.Heading:
				if n.Level == 2 {
					groups = append(groups, group{Title: textOf(n, p.source)})
				}
			case *ast.List:
				for item := n.FirstChild(); item != nil && len(groups) > 0; item = item.NextSibling() {
					to := firstLink(item)
					if to == nil || !strings.HasSuffix(string(to.Destination), ".html") {
						continue
					}
					last := &groups[len(groups)-1]
					last.Links = append(last.Links, link{string(to.Destination), textOf(to, p.source)})
					listed[strings.TrimSuffix(string(to.Destination), ".html")] = true
				}
			}
		}
	}
	for _, p := range pages {
		if !listed[p.name] {
			return nil, fmt.Errorf("docs/README.md does not list %s.md", p.name)
		}
	}
	return groups, nil
}
