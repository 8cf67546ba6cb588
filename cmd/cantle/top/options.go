package top

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Help is the help text of cantle top.
const Help = `Shows the load of a server live, from its console (--console-listen): current numbers, a
line of blocks for each partition over time, warnings, the most expensive requests, splits
and scaling. q ends it, ? lists the keys. Without a terminal, or with --once, it prints
one picture.

URI is the address of the console, such as http://127.0.0.1:8080/, or the connection
string of a server that has one. With --auth the user needs the role clusterMonitor:
http://ada:secret@127.0.0.1:8080/?authSource=admin.

  a bright line       one partition has most of the load: look for its most expensive value
                      (cantle partitions), and for another shard key (cantle advise)
  a diagonal          ascending keys move the load along: a hashed key spreads it
  refused             requests that exceed the RU/s of their partition (cantle report lists them)

From another machine:  ssh -L 8080:127.0.0.1:8080 server
`

// Options select what is shown, and how the terminal is used.
type Options struct {
	NS     string // "" for all collections
	Metric string
	Span   time.Duration // shown, up to now
	Every  time.Duration // between two requests
	Once   bool          // one picture, without a terminal
	JSON   bool          // that picture as JSON
	ByLoad bool
}

// Flags defines the flags of cantle top.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.NS, "collection", "", "`database.collection` to show; all of them by default")
	f.StringVar(&o.Metric, "metric", "ru", "`metric` of the blocks: ru, reads, writes, refused, failed, kib or latency")
	f.DurationVar(&o.Span, "last", 5*time.Minute, "time range to show: a minute to 168h")
	f.DurationVar(&o.Every, "every", time.Second, "refresh interval")
	f.BoolVar(&o.ByLoad, "by-load", false, "sort partitions by load, not by range")
	f.BoolVar(&o.Once, "once", false, "print one picture and exit")
	f.BoolVar(&o.JSON, "json", false, "print one picture as JSON: the answers of the console's API by their address")
}

// Check returns an error for wrong options.
func (o *Options) Check() error {
	_, err := o.view()
	return err
}

// view returns the initial view. Errors: wrong options.
func (o *Options) view() (*view, error) {
	if db, coll, _ := strings.Cut(o.NS, "."); o.NS != "" && (db == "" || coll == "") {
		return nil, fmt.Errorf("--collection is database.collection, not %q", o.NS)
	}
	v := &view{ns: o.NS, byLoad: o.ByLoad, at: -1}
	var known []string
	for i, m := range metrics {
		known = append(known, m.name)
		if m.name == o.Metric {
			v.at = i
		}
	}
	if v.at < 0 {
		return nil, fmt.Errorf("--metric is one of %s, not %q", strings.Join(known, ", "), o.Metric)
	}
	for _, s := range spans {
		if time.Duration(s)*time.Second >= o.Span && v.span == 0 {
			v.span = s
		}
	}
	if v.span == 0 || o.Span <= 0 {
		return nil, errors.New("--last is positive and at most 168h: the server keeps seven days")
	}
	if o.Every < 100*time.Millisecond {
		return nil, errors.New("--every is at least 100ms")
	}
	return v, nil
}

// reachable returns the address of a page, such as a console, in the form by which this client can reach it. what names
// the page; hosts are the hosts by which the client reaches the page's server.
// Errors: the page is for clients on its own machine only, and this is another machine.
func reachable(what, at string, hosts []string) (string, error) {
	u, err := url.Parse(at)
	if err != nil || len(hosts) == 0 {
		return at, err
	}
	host, _, err := net.SplitHostPort(hosts[0])
	if err != nil {
		host = hosts[0]
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return at, nil
	}
	here := strings.HasPrefix(host, "/") || strings.EqualFold(host, "localhost")
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && a.IsLoopback() {
		here = true
	}
	switch {
	case ip.IsUnspecified():
		u.Host = net.JoinHostPort(strings.Trim(host, "[]"), u.Port())
	case ip.IsLoopback() && !here:
		return "", fmt.Errorf("the %s of %s can be read on its own machine only: ssh -L %[3]s:127.0.0.1:%[3]s %[2]s, and then at http://127.0.0.1:%[3]s/ of this machine", what, host, u.Port())
	}
	return u.String(), nil
}
