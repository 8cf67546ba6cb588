// Package site renders the documentation (package docs) as HTML pages with a search: for the console, which serves
// the pages of its own version under /docs/, and for scripts/docs, which writes them to a folder. The pages load
// nothing from other hosts, and run under a Content-Security-Policy of 'self' without inline scripts and styles.
package site
