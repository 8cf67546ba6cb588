// Package docs holds the pages of the documentation, in Markdown, with their pictures and example files. cmd/cantle/site
// renders them as HTML. README.md is the index, whose lists are also the navigation of the rendered pages.
package docs

import "embed"

// Files are the pages and what they show, by their paths in this folder.
//
//go:embed *.md console/*.png scale-out
var Files embed.FS
