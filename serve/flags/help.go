package flags

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Widths of the help, in columns.
const (
	helpWidth  = 88
	helpIndent = 24 // of the descriptions of flags
)

// Topic is a group of flags with a title.
type Topic struct {
	Title string
	Flags []Flag
}

// topic is the name of the annotation that Group sets.
const topic = "topic"

// Group makes a topic of the flags that have none yet.
func Group(f *pflag.FlagSet, title string) {
	f.VisitAll(func(x *pflag.Flag) {
		if x.Annotations[topic] == nil {
			_ = f.SetAnnotation(x.Name, topic, []string{title}) // the flag exists
		}
	})
}

// Topics returns the flags of a set, grouped by topic. Topics have the order in which they were defined; within a
// topic the order is alphabetical. Flags without a topic belong to the topic "Flags". Flags of one topic that share a
// usage text, such as two spellings, make one Flag. Hidden flags and --help are left out.
func Topics(f *pflag.FlagSet) (out []Topic) {
	defer func(sorted bool) { f.SortFlags = sorted }(f.SortFlags)
	f.SortFlags = false
	f.VisitAll(func(x *pflag.Flag) {
		if x.Hidden || x.Name == "help" {
			return
		}
		title := "Flags"
		if own := x.Annotations[topic]; own != nil {
			title = own[0]
		}
		i := slices.IndexFunc(out, func(t Topic) bool { return t.Title == title })
		if i < 0 {
			i = len(out)
			out = append(out, Topic{Title: title})
		}
		_, usage := pflag.UnquoteUsage(x)
		list := &out[i].Flags
		if same := slices.IndexFunc(*list, func(y Flag) bool { return y.Usage == usage }); same >= 0 {
			(*list)[same].Names = append((*list)[same].Names, shown(x.Name))
			slices.Sort((*list)[same].Names)
			return
		}
		*list = append(*list, describe(x))
	})
	for _, t := range out {
		slices.SortFunc(t.Flags, func(a, b Flag) int {
			return strings.Compare(strings.TrimLeft(a.Names[0], "-"), strings.TrimLeft(b.Names[0], "-"))
		})
	}
	return out
}

// Flag describes a flag for the help.
type Flag struct {
	Names []string // with their dashes, the letter first
	Value string   // the name of its value, "" if it has none
	Usage string
	// Default is the value of the flag if it is not given, "" if that is a zero value such as 0 or false.
	Default string
}

// describe returns the description of a flag.
func describe(x *pflag.Flag) Flag {
	one := Flag{Names: []string{shown(x.Name)}, Default: defaultOf(x)}
	if x.Shorthand != "" {
		one.Names = []string{shown(x.Shorthand), shown(x.Name)}
	}
	one.Value, one.Usage = pflag.UnquoteUsage(x)
	if one.Value == "int" || one.Value == "uint" || one.Value == "float" {
		one.Value = "number"
	}
	return one
}

// choices is the name of the annotation that Choose sets.
const choices = "choices"

// Choose declares the allowed values of a flag.
func Choose(f *pflag.FlagSet, name string, values ...string) {
	if err := f.SetAnnotation(name, choices, values); err != nil {
		panic(err)
	}
}

// Choices returns the allowed values of a flag for shell completion, nil if they cannot be listed.
func Choices(x *pflag.Flag) []string { return x.Annotations[choices] }

// Label returns the flag as the help shows it: "-j, --jobs number".
func (x Flag) Label() string {
	return strings.TrimSpace(strings.Join(x.Names, ", ") + " " + x.Value)
}

// Print prints the descriptions of flags by topic.
func Print(out io.Writer, f *pflag.FlagSet) {
	for _, t := range Topics(f) {
		fmt.Fprintf(out, "\n%s:\n", t.Title)
		for _, x := range t.Flags {
			usage := x.Usage
			if x.Default != "" {
				usage += " (default " + x.Default + ")"
			}
			printOne(out, x.Label(), usage)
		}
	}
}

// defaultOf returns the default value of a flag as the help shows it (24h, not 24h0m0s), "" for a zero value.
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

// Wrap prints text after line, the beginning of an output line, and breaks it at the width of the help. Further lines
// begin with indent blanks.
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
