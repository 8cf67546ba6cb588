package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/command"
)

// Faults returns all errors in the settings, and in the files that the settings name, as far as they can be found
// without starting the server. Each error names the flag.
func (c *Config) Faults() (out []error) {
	add := func(err error) {
		var several interface{ Unwrap() []error }
		switch {
		case err == nil:
		case errors.As(err, &several):
			out = append(out, several.Unwrap()...)
		default:
			out = append(out, err)
		}
	}
	c.complete()
	add(c.check())
	_, err := newLog(*c, io.Discard, io.Discard)
	add(err)
	_, err = c.release()
	add(err)
	_, err = c.engine()
	add(err)
	if err == nil {
		_, err = c.backupPolicy()
		add(err)
	}
	for _, size := range []struct{ flag, text string }{
		{"cache-size", c.CacheSize}, {"work-memory", c.WorkMemory}, {"partition-size", c.PartitionSize},
		{"logical-partition-size", c.LogicalSize}, {"log-size", c.LogSize}, {"backup-log-size", c.BackupLogSize},
	} {
		if size.text == "" && (size.flag == "cache-size" || size.flag == "work-memory") {
			continue
		}
		if _, err := parseSize(size.text); err != nil {
			add(fmt.Errorf("--%s: %w", size.flag, err))
		}
	}
	_, err = c.prices()
	add(err)
	_, err = parseSync(c.Sync)
	add(err)
	add(c.checkWatchdog())
	if c.CosmosListen != "" && c.CosmosName == "" {
		add(errors.New("--cosmos-account: the account needs a name"))
	}
	_, err = c.account()
	add(err)
	if c.CosmosAdvertise != "" {
		if err := command.CheckMember(c.CosmosAdvertise); err != nil {
			add(fmt.Errorf("--cosmos-advertise: %w", err))
		}
		if c.CosmosListen == "" {
			add(errors.New("--cosmos-advertise says where --cosmos-listen is reached; give that as well"))
		}
	}
	if _, err := command.ParseReplicaSet(c.ReplicaSet); err != nil {
		add(fmt.Errorf("--replica-set: %w", err))
	}
	_, err = c.rootPassword()
	add(err)
	if collection.CheckDatabaseName(cmp.Or(c.InitDatabase, "test")) != nil {
		add(fmt.Errorf("--initdb-database: %q is not the name of a database, which has at most %d bytes, and none of / \\ . $ \" and blanks", c.InitDatabase, collection.DatabaseNameMax))
	}
	for _, a := range append(c.Addresses(), Address{"--console-listen", strings.TrimSpace(c.Console)}) {
		if a.Text != "" || a.Flag == "--listen" {
			add(a.check())
		}
	}
	add(checkAddresses(c))
	add(new(certificates).open(c, 1))
	return out
}

// Address is an address on which a server listens, and the flag that sets it.
type Address struct{ Flag, Text string }

// Addresses returns all addresses but the console's.
func (c *Config) Addresses() (out []Address) {
	for _, a := range c.listens() {
		out = append(out, Address{"--listen", a})
	}
	for _, a := range []Address{{"--cosmos-listen", c.CosmosListen}, {"--metrics-listen", c.Metrics}} {
		if a.Text = strings.TrimSpace(a.Text); a.Text != "" {
			out = append(out, a)
		}
	}
	return out
}

// listens returns the addresses of --listen. A server with Config.Listeners may have none.
func (c *Config) listens() (out []string) {
	if c.Listen == "" && len(c.Listeners) > 0 {
		return nil
	}
	for a := range strings.SplitSeq(c.Listen, ",") {
		out = append(out, strings.TrimSpace(a))
	}
	return out
}

// check validates the address without listening on it.
func (a Address) check() error {
	if strings.HasPrefix(a.Text, "unix:") || strings.Contains(a.Text, "/") {
		return nil
	}
	_, port, err := net.SplitHostPort(a.Text)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return cannotListen(a.Flag, a.Text, err)
	}
	return nil
}
