package flags

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// New makes an empty set that neither prints nor exits by itself.
func New(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// Parse reads a command line; flags and other arguments may be mixed, and nothing
// behind "--" is a flag. f.Args has the others.
// Errors: flag.ErrHelp; what is wrong with a flag, for people.
func Parse(f *flag.FlagSet, args []string) error {
	rest := []string{"--"}
	for len(args) > 0 {
		if err := f.Parse(args); err != nil {
			return explain(f, err)
		}
		left := f.Args()
		if read := len(args) - len(left); read > 0 && args[read-1] == "--" {
			rest = append(rest, left...)
			break
		}
		if len(left) == 0 {
			break
		}
		rest, args = append(rest, left[0]), left[1:]
	}
	return f.Parse(rest)
}

// Set sets one flag by its name.
// Errors: what is wrong with the value, for people.
func Set(f *flag.FlagSet, name, value string) error {
	err := f.Set(name, value)
	if err == nil {
		return nil
	}
	return badValue(f, name, fmt.Sprintf("%q", value), err.Error())
}

// wrongValue is how package flag words a value that a flag does not take.
var wrongValue = regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-(\S+): (.*)$`)

// explain words an error of package flag anew.
func explain(f *flag.FlagSet, err error) error {
	text := err.Error()
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return fmt.Errorf("there is no flag %s%s", shown(name), suggestion(f, name))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Errorf("%s needs a value", shown(name))
	}
	if m := wrongValue.FindStringSubmatch(text); m != nil {
		return badValue(f, m[2], m[1], m[3])
	}
	return err
}

// badValue says what a flag takes instead of a value, which is quoted.
func badValue(f *flag.FlagSet, name, value, reason string) error {
	if x := f.Lookup(name); x != nil {
		if g, ok := x.Value.(flag.Getter); ok {
			switch g.Get().(type) {
			case bool:
				return fmt.Errorf("%s is true or false, not %s", shown(name), value)
			case int, int64, uint, uint64:
				return fmt.Errorf("%s is a whole number, not %s", shown(name), value)
			case float64:
				return fmt.Errorf("%s is a number, not %s", shown(name), value)
			case time.Duration:
				return fmt.Errorf("%s is a time such as 90s, 15m or 24h, not %s", shown(name), value)
			}
		}
	}
	return fmt.Errorf("%s %s: %s", shown(name), value, reason)
}

// shown is a flag as the help shows it: -j, but --jobs.
func shown(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func suggestion(f *flag.FlagSet, name string) string {
	var names []string
	f.VisitAll(func(x *flag.Flag) { names = append(names, x.Name) })
	if near := Nearest(name, names); near != "" {
		return "; did you mean " + shown(near) + "?"
	}
	return ""
}
