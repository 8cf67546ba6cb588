package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantledb/cantle/serve/flags"
)

// Page is a man page, with the name of its file.
type Page struct{ File, Text string }

// Edition is the foot line of a man page: the version of the program and its date.
type Edition struct{ Version, Date string }

// Pages returns the man pages (section 1): one for the program, and one for each command.
func Pages(e Edition, commands []*cobra.Command) []Page {
	out := []Page{{"cantle.1", programPage(e, commands)}}
	for _, c := range commands {
		out = append(out, Page{"cantle-" + c.Name() + ".1", commandPage(e, c)})
	}
	return out
}

// head begins a page.
func head(b *strings.Builder, name, does string, e Edition) {
	fmt.Fprintf(b, ".TH %s 1 \"%s\" \"cantle %s\" \"Cantle\"\n", strings.ToUpper(strings.ReplaceAll(name, "-", `\-`)), e.Date, e.Version)
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n", troffText(name), troffText(does))
}

func programPage(e Edition, commands []*cobra.Command) string {
	var b strings.Builder
	head(&b, "cantle", "MongoDB-compatible server with partitions and request units", e)
	b.WriteString(".SH SYNOPSIS\n.B cantle\n.I command\n[\\fIflags\\fR] [\\fIarguments\\fR]\n.SH DESCRIPTION\n" +
		"Cantle is a database server for unmodified MongoDB drivers and tools. Collections are divided into\n" +
		"partitions, and every command is charged in request units, as in Azure Cosmos DB. Server and tools are\n" +
		"this one program. Flags may be anywhere after the command.\n.SH COMMANDS\n")
	for _, c := range commands {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s", troffText("cantle "+c.Name()), troffLines(strings.ToUpper(c.Short[:1])+c.Short[1:]+"."))
		fmt.Fprintf(&b, "See\n.BR cantle\\-%s (1).\n", troffText(c.Name()))
	}
	b.WriteString(".SH ENVIRONMENT\nEvery flag of\n.B cantle serve\ncan be set by an environment variable: CANTLE_ and its name in capitals, with _ for\n\\-, such as\n" +
		".B CANTLE_CACHE_SIZE\nfor\n.BR \\-\\-cache\\-size .\n.SH FILES\n.TP\n.I /etc/cantle/cantle.conf\nSettings of the installed service.\n" +
		".TP\n.I ./cantle\\-data\nThe database, unless\n.B \\-\\-data\nnames another folder.\n.SH EXIT STATUS\n" + exitStatus)
	b.WriteString(".SH SEE ALSO\n")
	var also []string
	for _, c := range commands {
		also = append(also, fmt.Sprintf(".BR cantle\\-%s (1)", troffText(c.Name())))
	}
	b.WriteString(strings.Join(also, ",\n") + "\n")
	return b.String()
}

const exitStatus = "0 for success, 1 for an error, 2 for wrong arguments.\n"

func commandPage(e Edition, c *cobra.Command) string {
	var b strings.Builder
	head(&b, "cantle-"+c.Name(), c.Short, e)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", troffText("cantle "+c.Name()))
	if rest := strings.TrimPrefix(c.UseLine(), "cantle "+c.Name()); rest != "" {
		b.WriteString(troffLines(strings.TrimSpace(rest)))
	}
	b.WriteString(".SH DESCRIPTION\n")
	for i, p := range paragraphs(c.Long) {
		switch {
		case p.asIs:
			fmt.Fprintf(&b, ".PP\n.in +4n\n.nf\n%s.fi\n.in\n", troffLines(outdent(p.text)))
		case i > 0:
			fmt.Fprintf(&b, ".PP\n%s", troffLines(p.text))
		default:
			b.WriteString(troffLines(p.text))
		}
	}
	topics := flags.Topics(c.Flags())
	if len(topics) > 0 {
		b.WriteString(".SH OPTIONS\n")
	}
	for _, g := range topics {
		if len(topics) > 1 {
			fmt.Fprintf(&b, ".SS %s\n", troffText(g.Title))
		}
		for _, x := range g.Flags {
			fmt.Fprintf(&b, ".TP\n%s", troffLabel(x))
			usage := x.Usage
			if x.Default != "" {
				usage += " (default " + x.Default + ")"
			}
			b.WriteString(troffLines(usage))
		}
	}
	fmt.Fprintf(&b, ".SH EXIT STATUS\n%s.SH SEE ALSO\n.BR cantle (1)\n", exitStatus)
	return b.String()
}

// troffLabel returns the names of a flag in bold and its value in italics, in the markup of troff.
func troffLabel(x flags.Flag) string {
	var names []string
	for _, n := range x.Names {
		names = append(names, `\fB`+troffText(n)+`\fR`)
	}
	label := strings.Join(names, ", ")
	if x.Value != "" {
		label += ` \fI` + troffText(x.Value) + `\fR`
	}
	return label + "\n"
}

// troffLines escapes lines of text for troff, so that no line is taken for a request, which begins with a dot or an
// apostrophe.
func troffLines(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		line = troffText(line)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// troffText escapes a text so that troff prints every character as it is, even hyphens and quotes.
func troffText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
