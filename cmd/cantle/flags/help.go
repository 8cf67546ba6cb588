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

// Print prints what flags mean, in alphabetical order. Flags with the same meaning
// share a line.
func Print(out io.Writer, f *pflag.FlagSet) {
	printed := map[string]bool{}
	f.VisitAll(func(x *pflag.Flag) {
		if printed[x.Name] {
			return
		}
		value, usage := pflag.UnquoteUsage(x)
		if value == "int" || value == "uint" || value == "float" {
			value = "number"
		}
		label := shown(x.Name)
		f.VisitAll(func(y *pflag.Flag) {
			if y.Name != x.Name && y.Usage == x.Usage {
				printed[y.Name] = true
				label += ", " + shown(y.Name)
			}
		})
		if value != "" {
			label += " " + value
		}
		if d := defaultOf(x); d != "" {
			usage += " (default " + d + ")"
		}
		printOne(out, label, usage)
	})
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

func printOne(out io.Writer, label, text string) {
	line := "  " + label
	if len([]rune(line))+2 > helpIndent {
		fmt.Fprintln(out, line)
		line = ""
	}
	line += strings.Repeat(" ", helpIndent-len([]rune(line)))
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > helpWidth {
			fmt.Fprintln(out, line)
			line, empty = strings.Repeat(" ", helpIndent), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(out, line)
}
