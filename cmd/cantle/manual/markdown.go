package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantledb/cantle/serve/flags"
)

// Markdown returns the reference of the commands.
func Markdown(commands []*cobra.Command) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "- [`cantle %s`](#cantle-%s): %s\n", c.Name(), c.Name(), c.Short)
	}
	for _, c := range commands {
		fmt.Fprintf(&b, "\n## cantle %s\n\n```text\n%s\n```\n", c.Name(), c.UseLine())
		for _, p := range paragraphs(c.Long) {
			if p.asIs {
				fmt.Fprintf(&b, "\n```text\n%s\n```\n", outdent(p.text))
				continue
			}
			fmt.Fprintf(&b, "\n%s\n", markdownText(p.text))
		}
		topics := flags.Topics(c.Flags())
		for _, g := range topics {
			if len(topics) > 1 {
				fmt.Fprintf(&b, "\n### %s\n", g.Title)
			}
			b.WriteString("\n| flag | default | |\n|---|---|---|\n")
			for _, x := range g.Flags {
				label, usual := "`"+x.Label()+"`", ""
				if x.Default != "" {
					usual = "`" + x.Default + "`"
				}
				fmt.Fprintf(&b, "| %s | %s | %s |\n", label, usual, strings.ReplaceAll(markdownText(x.Usage), "|", `\|`))
			}
		}
	}
	return b.String()
}

// outdent removes the indentation that all lines of a text share.
func outdent(text string) string {
	lines := strings.Split(text, "\n")
	least := len(text)
	for _, l := range lines {
		least = min(least, len(l)-len(strings.TrimLeft(l, " ")))
	}
	for i, l := range lines {
		lines[i] = l[least:]
	}
	return strings.Join(lines, "\n")
}

// markdownText escapes characters that Markdown or HTML would interpret.
func markdownText(s string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;").Replace(s)
}
