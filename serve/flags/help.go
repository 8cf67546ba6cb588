package flags

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Measures of the help, in columns.
const (
	helpWidth  = 88
	helpIndent = 24 // of what flags mean
)

// Command is what the program does after one word, as its users are told of it.
type Command struct {
	Name string // the word
	Args string // what stands behind the flags
	Does string // in a few words
	Help string // in paragraphs; lines that are indented stay as they are
	// Groups are the flags by what they are about.
	Groups []Group
}

// Group is flags with a title.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// Usage is how the command is written: "cantle dump [flags] URI".
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

// Flag is a flag as users are told of it. Flags with the same meaning are one.
type Flag struct {
	Names []string // with their dashes
	Value string   // what its value is called, "" if it has none
	Usage string
	// Default is what it is when it is not given, "" where that is nothing.
	Default string
	// Choices are all values that it takes, nil where these cannot be listed.
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

// choices is the name of the annotation that Choose makes.
const choices = "choices"

// Choose notes that a flag takes these values and no others.
func Choose(f *pflag.FlagSet, name string, values ...string) {
	if err := f.SetAnnotation(name, choices, values); err != nil {
		panic(err)
	}
}

// Label is the flag as the help shows it: "-j, --jobs number".
func (x Flag) Label() string {
	return strings.TrimSpace(strings.Join(x.Names, ", ") + " " + x.Value)
}

// Print prints what flags mean, in alphabetical order.
func Print(out io.Writer, f *pflag.FlagSet) {
	for _, x := range List(f) {
		usage := x.Usage
		if x.Default != "" {
			usage += " (default " + x.Default + ")"
		}
		printOne(out, x.Label(), usage)
	}
}

// defaultOf is what a flag is when it is not given, "" where that is nothing.
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

// printOne prints a flag: its label, and what it means beside or below it.
func printOne(out io.Writer, label, text string) {
	line := "  " + label
	if len([]rune(line))+2 > helpIndent {
		fmt.Fprintln(out, line)
		line = ""
	}
	Wrap(out, line+strings.Repeat(" ", helpIndent-len([]rune(line))), helpIndent, text)
}

// Wrap prints a text behind the beginning of a line, and what does not fit below it, after
// so many blanks.
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
