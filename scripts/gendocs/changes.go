package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cantledb/cantle/collection/release"
)

// renderChanges prints the behaviours that a release of MongoDB changed as a Markdown table, by release, the oldest
// first.
func renderChanges(behaviours []release.Changed) []byte {
	var b bytes.Buffer
	b.WriteString("\n## What follows the release\n\n`collection/release.Behaviours`\n\n" +
		"Behaviours that a release changed. This server follows the release of `--compat` (" +
		release.Names() + "):\n\n| since | change | source |\n|---|---|---|\n")
	rows := slices.Clone(behaviours)
	slices.SortStableFunc(rows, func(a, b release.Changed) int { return cmp.Compare(a.Since, b.Since) })
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Since, strings.ReplaceAll(r.Says, "|", `\|`), sourceLink(r))
	}
	return b.Bytes()
}

// sourceLink returns a Markdown link to the source of a changed behaviour: a ticket, or a page of the manual.
func sourceLink(r release.Changed) string {
	root := manualOf(r.Since.String())
	if strings.HasPrefix(r.Source, "SERVER-") {
		root = "https://jira.mongodb.org/browse/"
	}
	return fmt.Sprintf("[%s](%s)", r.Source, root+r.Source)
}
