package daemon

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/serve/flags"
)

// Origins maps the name of each flag that was set to the place where it was set: "" for the command line, the name of
// an environment variable, or a file and line.
type Origins map[string]string

// String counts the settings by place.
func (p Origins) String() string {
	counts := map[string]int{}
	for name, place := range p {
		if slices.Contains(notInFile, name) {
			continue
		}
		file, _, inFile := strings.Cut(place, ":")
		switch {
		case inFile:
			counts["in "+file]++
		case place == "":
			counts["on the command line"]++
		default:
			counts["in the environment"]++
		}
	}
	var parts []string
	for where, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, where))
	}
	slices.Sort(parts)
	if parts == nil {
		return "all have their default values"
	}
	return strings.Join(parts, ", ")
}

// flagPattern finds the flags in the text of an error.
var flagPattern = regexp.MustCompile(`--([a-z][a-z-]+)`)

// Explain adds to an error the place where the wrong setting was made (an environment variable, or file and line). It
// takes the first flag in the error's text that a variable or a file set.
func (p Origins) Explain(err error) error {
	for _, m := range flagPattern.FindAllStringSubmatch(err.Error(), -1) {
		if place := p[m[1]]; place != "" {
			return fmt.Errorf("%s: %w", place, err)
		}
	}
	return err
}

// Load sets the flags that the command line does not have, from environment variables, the config file and the
// variables of MongoDB's image (loadMongo), and returns the place where each flag was set. environ has the variables as
// os.Environ returns them.
// Errors: all invalid settings, each with its place.
func Load(f *pflag.FlagSet, environ []string) (Origins, error) {
	env := variables(environ)
	places := Origins{}
	f.Visit(func(x *pflag.Flag) { places[x.Name] = "" })
	var errs []error
	for _, name := range settingNames(f) {
		variable := variableOf(name)
		_, given := places[name]
		if v, ok := env[variable]; ok && !given {
			places[name] = variable
			if err := flags.Set(f, name, v); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s: %w", variable, err))
			}
		}
	}
	errs = append(errs, env.misspelt(settingNames(f))...)
	if file := f.Lookup("config").Value.String(); file != "" {
		r, err := os.Open(credential(file))
		if err != nil {
			return places, errors.Join(append(errs, fmt.Errorf("--config: %w", unreadable(file, err)))...)
		}
		defer r.Close()
		errs = append(errs, loadFile(f, file, r, places)...)
	}
	return places, errors.Join(append(errs, loadMongo(f, env, places)...)...)
}

// settingNames returns the names of the flags that are settings: all but --help, which package cobra adds to the flags
// of each command.
func settingNames(f *pflag.FlagSet) (names []string) {
	f.VisitAll(func(x *pflag.Flag) {
		if x.Name != "help" {
			names = append(names, x.Name)
		}
	})
	return names
}

// loadMongo sets flags from the variables of MongoDB's container image, if --mongo-variables is set. Flags that are
// set already keep their values.
func loadMongo(f *pflag.FlagSet, env variablesByName, places Origins) (errs []error) {
	if x := f.Lookup("mongo-variables"); x == nil || x.Value.String() != "true" {
		return nil
	}
	for _, m := range mongoVariables {
		if _, given := places[m.flag]; given {
			continue
		}
		value, ok, err := mongoVariable(m.variable, env)
		if err == nil && ok {
			places[m.flag] = m.variable
			err = flags.Set(f, m.flag, value)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// nearest returns the end of an error text, "; did you mean NAME?", with the one of the names that is nearest to a
// mistyped name; "" if none is near.
func nearest(names []string, name string) string {
	if near := flags.Nearest(strings.TrimLeft(name, "-"), names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
