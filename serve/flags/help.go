package flags

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Widths of the help, in columns.
const (
	helpWidth  = 88
	helpIndent = 24 // of the descriptions of flags
)

// Command describes a verb of the program, for its help.
type Command struct {
	Name    string // the verb
	Args    string // the arguments after the flags
	Summary string // in a few words
	Help    string // paragraphs; indented lines stay as they are
	// Groups are the flags by topic.
	Groups []Group
}

// Group is a group of flags with a title.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// Usage returns the syntax of the command: "cantle dump [flags] URI".
func (c Command) Usage() string {
	usage := "cantle " + c.Name
	if len(c.Groups) > 0 {
		usage += " [flags]"
	}
	return strings.TrimSpace(usage + " " + c.Args)
}

// Print prints the help of the command.
func (c Command) Print(out io.Writer) {
	fmt.Fprintf(out, "Usage: %s\n\n%s", c.Usage(), c.Help)
	for _, g := range c.Groups {
		fmt.Fprintf(out, "\n%s:\n", g.Title)
		Print(out, g.Flags)
	}
}

// Flag describes a flag for the help. Flags with the same meaning are one Flag.
type Flag struct {
	Names []string // with their dashes
	Value string   // the name of its value, "" if it has none
	Usage string
	// Default is the value if the flag is not given, "" if that is a zero value.
	Default string
	// Choices are the allowed values, nil if they cannot be listed.
	Choices []string
}

// List returns the flags of a set in alphabetical order.
func List(f *pflag.FlagSet) (out []Flag) {
	seen := map[string]bool{}
	f.VisitAll(func(x *pflag.Flag) {
		if seen[x.Name] || x.Hidden {
			return
		}
		one := Flag{Names: []string{shown(x.Name)}, Default: defaultOf(x), Choices: x.Annotations[choices]}
		one.Value, one.Usage = pflag.UnquoteUsage(x)
		if one.Value == "int" || one.Value == "uint" || one.Value == "float" {
			one.Value = "number"
		}
		f.VisitAll(func(y *pflag.Flag) {
			if y.Name != x.Name && y.Usage == x.Usage {
				seen[y.Name] = true
				one.Names = append(one.Names, shown(y.Name))
			}
		})
		out = append(out, one)
	})
	return out
}

// choices is the name of the annotation that Choose sets.
const choices = "choices"

// Choose declares the allowed values of a flag.
func Choose(f *pflag.FlagSet, name string, values ...string) {
	if err := f.SetAnnotation(name, choices, values); err != nil {
		panic(err)
	}
}

// Label returns the flag as the help shows it: "-j, --jobs number".
func (x Flag) Label() string {
	return strings.TrimSpace(strings.Join(x.Names, ", ") + " " + x.Value)
}

// Print prints the descriptions of flags, in alphabetical order.
func Print(out io.Writer, f *pflag.FlagSet) {
	for _, x := range List(f) {
		usage := x.Usage
		if x.Default != "" {
			usage += " (default " + x.Default + ")"
		}
		printOne(out, x.Label(), usage)
	}
}

// defaultOf returns the default value of a flag, "" for a zero value.
func defaultOf(x *pflag.Flag) string {
	switch x.DefValue {
	case "", "0", "0s", "false", "[]":
		return ""
	}
	d := x.DefValue
	for _, zero := range []string{"m0s", "h0m"} { // 24h0m0s is 24h
		if strings.HasSuffix(d, zero) {
			d = strings.TrimSuffix(d, zero[1:])
		}
	}
	return d
}

// printOne prints a flag: its label, and its description beside or below the label.
func printOne(out io.Writer, label, text string) {
	line := "  " + label
	if len([]rune(line))+2 > helpIndent {
		fmt.Fprintln(out, line)
		line = ""
	}
	Wrap(out, line+strings.Repeat(" ", helpIndent-len([]rune(line))), helpIndent, text)
}

// Wrap prints a text after the beginning of a line, and continues it on further lines with
// an indent of so many blanks.
func Wrap(out io.Writer, line string, indent int, text string) {
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > helpWidth {
			fmt.Fprintln(out, line)
			line, empty = strings.Repeat(" ", indent), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(out, line)
}
