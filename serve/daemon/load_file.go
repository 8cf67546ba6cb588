package daemon

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/serve/flags"
)

// notInFile are the flags that a config file cannot set, because they concern the reading of that file.
var notInFile = []string{"config", "check-config"}

// loadFile sets flags from a config file with lines of the form "name: value"; a line that begins with # is a
// comment. Flags that are set already keep their values.
func loadFile(f *pflag.FlagSet, file string, r io.Reader, places Origins) (errs []error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return []error{fmt.Errorf("--config: %w", err)}
	}
	names, lines, around := settingNames(f), map[string]int{}, yamlSections{}
	all := strings.Split(string(text), "\n")
	for i, raw := range all {
		line := strings.TrimSpace(raw)
		if line == "" || line[0] == '#' {
			continue
		}
		within := around.at(indent(raw))
		if around.begin(raw, all[i+1:]) {
			continue
		}
		wrong := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, i+1, fmt.Errorf(format, args...)))
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"`)
		switch {
		case ok && (within != "" || strings.Contains(name, ".")):
			wrong("%s", mongodKey(within+name))
			continue
		case !ok:
			wrong("expected \"name: value\" with the name of a flag, such as \"listen: 127.0.0.1:27018\", found %q", line)
			continue
		case slices.Contains(notInFile, name):
			wrong("%s is for the command line", name)
			continue
		case !slices.Contains(names, name):
			if m := findMongod(name); m != nil {
				wrong("there is no setting %s: it is mongod's; %s", name, m.asSetting())
			} else {
				wrong("there is no setting %s%s", name, nearest(names, name))
			}
			continue
		case lines[name] > 0:
			wrong("%s has been set in line %d already", name, lines[name])
			continue
		}
		lines[name] = i + 1
		if _, given := places[name]; given {
			continue
		}
		places[name] = fmt.Sprintf("%s:%d", file, i+1)
		if err := flags.Set(f, name, value); err != nil {
			wrong("%w", err)
		}
	}
	return errs
}
