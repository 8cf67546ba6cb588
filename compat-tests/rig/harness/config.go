package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Config is one way of running the end-to-end cases: a file in
// compat-tests/behaviour/configs, whose lines are
//
//	# why this configuration exists
//	disk: yes                  a data directory instead of memory
//	flag: --cache-size=8MB     a flag of the server, one per line
//	failpoint: parkCursors     a fail point that is always on, one per line
//	shards: 7                  every collection is sharded over so many partitions by hashed _id
//	faults: yes                the store makes mistakes that the server has to hide
//	cluster: yes               the store is a simulated TiKV cluster
//	servers: 3                 so many servers share that cluster, and commands go to one after the other
//	intxn: yes                 commands run in multi-document transactions where they may
//	index: {a: 1}              every collection gets this index, one per line
//	unordered: yes             results without a sort may come in another order
//	skip: area/file.txt reason a file, or file.txt:line, that cannot hold here, and why
//
// A collection is sharded and indexed before the first command of a case that may create it, or right after create;
// see writers.
type Config struct {
	Name      string
	Disk      bool
	Flags     []string
	Points    []string // fail points
	Shards    int
	Indexes   []string // key patterns in shell notation
	Unordered bool
	Faults    bool
	Cluster   bool
	Servers   int // number of servers that share a store; 0 is one alone
	InTxn     bool
	Skips     map[string]string // reasons by file or file:line, relative to the cases directory

	// Held counts the commands that ran in transactions.
	Held int

	// Launch starts the server of a file, for a configuration whose servers are not those
	// of the function Launch; its caller sets it.
	Launch func(Options) (*Server, error)
}

// ReadConfigs reads every configuration in dir, by name.
func ReadConfigs(dir string) ([]*Config, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no configurations in %s", dir)
	}
	var out []*Config
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c, err := parseConfig(path, string(text))
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// parseConfig parses one configuration file; errors name file and line.
func parseConfig(path, text string) (*Config, error) {
	c := &Config{
		Name:  strings.TrimSuffix(filepath.Base(path), ".txt"),
		Skips: map[string]string{},
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		if err := c.set(key, strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}
	return c, nil
}

// set applies one line of a configuration.
func (c *Config) set(key, value string) (err error) {
	switch key {
	case "disk":
		c.Disk, err = yes(value)
	case "flag":
		c.Flags = append(c.Flags, value)
	case "failpoint":
		c.Points = append(c.Points, value)
	case "shards":
		c.Shards, err = strconv.Atoi(value)
	case "index":
		_, err = parseCommand(value)
		c.Indexes = append(c.Indexes, value)
	case "intxn":
		c.InTxn, err = yes(value)
	case "cluster":
		c.Cluster, err = yes(value)
	case "servers":
		c.Servers, err = strconv.Atoi(value)
	case "faults":
		c.Faults, err = yes(value)
	case "unordered":
		c.Unordered, err = yes(value)
	case "skip":
		file, reason, _ := strings.Cut(value, " ")
		if strings.TrimSpace(reason) == "" {
			return fmt.Errorf("skip of %q without a reason", file)
		}
		c.Skips[file] = strings.TrimSpace(reason)
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return err
}

// yes parses the value of a switch.
func yes(value string) (bool, error) {
	switch value {
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	return false, fmt.Errorf("expected yes or no, found %q", value)
}
