package flags

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// New makes an empty set of flags that, unlike those of package pflag, neither prints errors nor ends the process.
func New(name string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// Parse parses a command line. Flags and other arguments may be mixed, and nothing after "--" is a flag. f.Args then
// returns the other arguments.
// Errors: pflag.ErrHelp; invalid flags, in the words of Explain.
func Parse(f *pflag.FlagSet, args []string) error {
	return Explain(f, f.Parse(WithDashes(f, args)))
}

// WithDashes returns the arguments with two dashes before long flag names and one before single letters, so that
// -listen works like --listen, as in programs with Go's flag package.
func WithDashes(f *pflag.FlagSet, args []string) []string {
	args = slices.Clone(args)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, dashed := strings.CutPrefix(args[i], "-")
		name = strings.TrimPrefix(name, "-")
		before, _, hasValue := strings.Cut(name, "=")
		if !dashed || before == "" || before[0] == '-' {
			continue
		}
		args[i] = shown(before) + name[len(before):]
		x := f.Lookup(before)
		if len(before) == 1 {
			x = f.ShorthandLookup(before)
		}
		if x != nil && x.NoOptDefVal == "" && !hasValue {
			i++ // its value, even if that begins with a dash
		}
	}
	return args
}

// Set sets one flag by its name.
// Errors: an unknown name; an invalid value; other errors of the flag. Their texts are those of Explain.
func Set(f *pflag.FlagSet, name, value string) error { return Explain(f, f.Set(name, value)) }

// Explain rewords an error of package pflag for people.
func Explain(f *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	var silent *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		return fmt.Errorf("there is no flag %s%s", shown(name), suggestion(f, name))
	case errors.As(err, &silent):
		return fmt.Errorf("%s needs a value", shown(silent.GetSpecifiedName()))
	case errors.As(err, &invalid):
		return badValue(invalid)
	}
	return err
}

// badValue returns an error that has the wrong value of a flag and the kind of value that the flag requires.
func badValue(e *pflag.InvalidValueError) error {
	name, value := shown(e.GetFlag().Name), e.GetValue()
	switch e.GetFlag().Value.Type() {
	case "bool":
		return fmt.Errorf("%s is true or false, not %q", name, value)
	case "int", "int64", "uint", "uint64":
		return fmt.Errorf("%s is a whole number, not %q", name, value)
	case "float64":
		return fmt.Errorf("%s is a number, not %q", name, value)
	case "duration":
		return fmt.Errorf("%s is a time such as 90s, 15m or 24h, not %q", name, value)
	}
	return fmt.Errorf("%s %q: %w", name, value, e.Unwrap())
}

// shown returns a flag as the help shows it: -j, but --jobs.
func shown(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// suggestion returns the end of an error text, "; did you mean FLAG?", with the flag whose name is nearest to a
// mistyped name; "" if none is near.
func suggestion(f *pflag.FlagSet, name string) string {
	var names []string
	f.VisitAll(func(x *pflag.Flag) { names = append(names, x.Name) })
	if near := Nearest(name, names); near != "" {
		return "; did you mean " + shown(near) + "?"
	}
	return ""
}
