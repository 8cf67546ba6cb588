package daemon

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/cantledb/cantle/serve/flags"
)

// variablePrefix is the beginning of the environment variables that are settings.
const variablePrefix = "CANTLE_"

// variableOf returns the environment variable of a setting.
func variableOf(name string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// variablesByName are environment variables.
type variablesByName map[string]string

// variables returns the environment variables in a list of NAME=value. On Windows names are in capitals, because
// there the case of a variable's name has no meaning.
func variables(environ []string) variablesByName {
	out := variablesByName{}
	for _, x := range environ {
		name, value, ok := strings.Cut(x, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if ok && name != "" {
			out[name] = value
		}
	}
	return out
}

// misspelt returns an error for each variable that is not a setting but probably meant as one: its name is near to
// that of a setting, or it is a name of mongod's. Other variables with the prefix are ignored, because programs that
// start a server have some of their own, and so has Kubernetes beside a service named cantle (CANTLE_PORT=tcp://…).
func (v variablesByName) misspelt(settings []string) (errs []error) {
	var names []string
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, variable := range names {
		name, ours := strings.CutPrefix(variable, variablePrefix)
		name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		if !ours || name == "help" || slices.Contains(settings, name) || strings.Contains(v[variable], "://") {
			continue
		}
		if near := flags.Nearest(name, settings); near != "" {
			errs = append(errs, fmt.Errorf("environment variable %s: there is no such setting; did you mean %s?", variable, variableOf(near)))
		} else if m := findMongodVariable(name); m != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: there is no such setting; %s", variable, m.asVariable()))
		}
	}
	return errs
}

// findMongodVariable returns the row of the setting of mongod whose flag has a name, in any case and with hyphens
// anywhere; nil if there is none.
func findMongodVariable(name string) *mongodSetting {
	plain := strings.NewReplacer("-", "", "_", "").Replace
	for i, m := range mongodSettings {
		for _, f := range strings.Fields(m.flags) {
			if len(f) > 1 && strings.EqualFold(plain(f), plain(name)) {
				return &mongodSettings[i]
			}
		}
	}
	return nil
}

// Notices returns sentences about variables that are not read but look as if they were to be: those of MongoDB's
// image, which are settings only with --mongo-variables. environ has the variables as os.Environ returns them.
func (c *Config) Notices(environ []string) (out []string) {
	if c.MongoVariables {
		return nil
	}
	env := variables(environ)
	for _, m := range mongoVariables {
		if _, given, _ := mongoVariable(m.variable, env); given {
			out = append(out, fmt.Sprintf("the environment variable %s is not read: set --mongo-variables, or %s instead", m.variable, variableOf(m.flag)))
		}
	}
	return out
}
