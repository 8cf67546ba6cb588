package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/address"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/doctor"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/shard/skew"
)

// clockMax, plus the time of a request, is the maximum difference between the clocks of the server and of this
// machine that cantle doctor does not report.
const clockMax = time.Second

// examineLocal examines the server that listens on the first address of the settings, if one does. It does not log
// in, so it reads only public data. limit is the timeout.
func examineLocal(ctx context.Context, c *daemon.Config, limit time.Duration) []doctor.Finding {
	addresses := c.Addresses()
	if len(addresses) == 0 {
		return nil
	}
	var d net.Dialer
	network, address := "tcp", addresses[0].Text
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	nc, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil // the server is not running
	}
	nc.Close()
	uri := "mongodb://" + strings.ReplaceAll(address, "/", "%2F") + "/?directConnection=true"
	if c.TLSMode == "requireTLS" {
		uri += "&tls=true&tlsInsecure=true"
	}
	return examine(ctx, uri, limit)
}

// examine examines a running server.
func examine(ctx context.Context, uri string, limit time.Duration) (out []doctor.Finding) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	add := func(check string, state doctor.State, advice, format string, args ...any) {
		out = append(out, doctor.Finding{Check: check, State: state, Found: fmt.Sprintf(format, args...), Advice: advice})
	}
	var secure *tls.Config
	var hosts []string
	s, err := connect(uri, "cantle doctor", func(o *options.ClientOptions) error {
		secure, hosts = o.TLSConfig, o.Hosts
		return o.Validate()
	})
	if err != nil {
		add("server", doctor.Fault, "write it as mongodb://host:port/", "%v", err)
		return out
	}
	defer s.close()
	if secure != nil {
		out = append(out, shownCertificates(ctx, hosts, secure)...)
	}
	// hello is sent twice: the first reply includes the time of connecting, and the second measures the time of a
	// request.
	if _, err := s.runCommand(ctx, "admin", command("hello")); err != nil {
		add("server", doctor.Fault, strings.TrimSpace(remedy(err)), "%v", err)
		return out
	}
	begun := time.Now()
	hello, err := s.runCommand(ctx, "admin", command("hello"))
	if err != nil {
		add("server", doctor.Fault, strings.TrimSpace(remedy(err)), "%v", err)
		return out
	}
	took := time.Since(begun)
	add("server", doctor.Good, "", "%s answers in %s, as %s%s", address.Redact(uri), took.Round(10*time.Microsecond), roleOf(hello), s.version(ctx))
	if ms, ok := hello.Get("localTime").DateTime(); ok {
		ahead := time.UnixMilli(ms).Sub(begun.Add(took / 2))
		if ahead.Abs() > clockMax+took {
			add("clock", doctor.Warning, "synchronise both clocks with chrony or systemd-timesyncd", "the server's clock differs by %s from this machine's", ahead.Round(100*time.Millisecond))
		}
	}
	for _, ask := range []func(context.Context) ([]doctor.Finding, error){s.health, s.complaints, s.drivers} {
		more, err := ask(ctx)
		var refused *refusedError
		if errors.As(err, &refused) {
			add("server", doctor.Note, "", "a user with the role clusterMonitor sees more: cantle doctor mongodb://user@host/")
			break
		}
		if err != nil {
			add("server", doctor.Fault, strings.TrimSpace(remedy(err)), "%v", err)
			break
		}
		out = append(out, more...)
	}
	return out
}

// version returns the end of a sentence about the server: the version of its program and, if that is another one, of
// this program; or that it is not a Cantle server. It is "" if buildInfo fails.
func (s *server) version(ctx context.Context) string {
	info, err := s.runCommand(ctx, "admin", command("buildInfo"))
	if err != nil {
		return ""
	}
	theirs, ok := info.Get("cantle").Doc()
	version, _ := theirs.Get("version").Str()
	switch {
	case !ok:
		return "; it is not a Cantle server"
	case version != daemon.Version:
		return fmt.Sprintf("; it is cantle %s, and this program %s", version, daemon.Version)
	}
	return "; it is cantle " + version
}

// health reports the state of a server.
func (s *server) health(ctx context.Context) ([]doctor.Finding, error) {
	status, err := s.runCommand(ctx, "admin", bson.D{{"serverStatus", 1}, {"partitionLoad", true}}.Doc())
	if err != nil {
		return nil, err
	}
	conns, _ := status.Get("connections").Doc()
	current, left := whole(conns, "current"), whole(conns, "available")
	x := doctor.Finding{Check: "connections", State: doctor.Good, Found: fmt.Sprintf("%d open, %d more available; up for %s", current, left, time.Duration(whole(status, "uptime"))*time.Second)}
	if left < (current+left)/10 {
		x.State, x.Advice = doctor.Warning, "find the clients that open too many (below) and reduce their pool sizes, or raise --max-connections"
	}
	out := []doctor.Finding{x}
	if b, ok := status.Get("backup").Doc(); ok {
		out = append(out, doctor.Backups(b, time.Now()))
	}
	return append(out, loads(status)...), nil
}

// loadsShown is the maximum number of collections of which loads reports the load.
const loadsShown = 5

// loads returns findings about the section partitionLoad of serverStatus: hot partitions, partitions at their limit,
// and refused requests of the last minute. It returns none for a server without the section.
func loads(status bson.Raw) (out []doctor.Finding) {
	load, ok := status.Get("partitionLoad").Doc()
	if !ok {
		return nil
	}
	if n := whole(load, "refusedLastMinute"); n > 0 {
		out = append(out, doctor.Finding{Check: "load", State: doctor.Warning, Found: skew.Number(float64(n)) + " requests were refused in the last minute, because request units were used up"})
	}
	list, _ := load.Get("worst").Array()
	shown := 0
	for v := range list.Values() {
		if shown++; shown > loadsShown {
			break
		}
		d, _ := v.Doc()
		ns, _ := d.Get("ns").Str()
		text, _ := d.Get("text").Str()
		kind, _ := d.Get("kind").Str()
		x := doctor.Finding{Check: "load", State: doctor.Warning, Found: ns + ": " + text}
		switch skew.Kind(kind) {
		case skew.Hot:
			x.Advice = "find the values with cantle partitions URI " + ns + ", and a better shard key with cantle advise URI " + ns
		case skew.Full:
			x.Advice = "raise the throughput of " + ns + ", or find expensive requests with cantle report URI " + ns
		default:
			x.Advice = "find the refused requests with cantle report URI " + ns
		}
		out = append(out, x)
	}
	if out == nil {
		out = append(out, doctor.Finding{Check: "load", State: doctor.Good, Found: "no partition is hot or at its limit, and no request was refused in the last minute"})
	}
	return out
}

// complaints returns the startup warnings of a server.
func (s *server) complaints(ctx context.Context) (out []doctor.Finding, err error) {
	log, err := s.runCommand(ctx, "admin", bson.D{{"getLog", "startupWarnings"}}.Doc())
	if err != nil {
		return nil, err
	}
	lines, _ := log.Get("log").Array()
	for v := range lines.Values() {
		text, _ := v.Str()
		out = append(out, doctor.Finding{Check: "server", State: doctor.Warning, Found: text})
	}
	return out, nil
}

// drivers reports the connected drivers, by their client metadata.
func (s *server) drivers(ctx context.Context) (out []doctor.Finding, err error) {
	ops, err := s.runCommand(ctx, "admin", bson.D{{"currentOp", 1}, {"$all", true}}.Doc())
	if err != nil {
		return nil, err
	}
	type seen struct {
		conns map[string]bool // by server and number
		apps  map[string]bool
	}
	all := map[string]seen{}
	list, _ := ops.Get("inprog").Array()
	for v := range list.Values() {
		op, _ := v.Doc()
		if app, _ := op.Get("appName").Str(); app == "cantle doctor" || whole(op, "connectionId") == 0 {
			continue
		}
		name := "clients without metadata"
		meta, _ := op.Get("clientMetadata").Doc()
		if d, ok := meta.Get("driver").Doc(); ok {
			driver, _ := d.Get("name").Str()
			version, _ := d.Get("version").Str()
			name = driver + " " + version
		}
		if all[name].conns == nil {
			all[name] = seen{map[string]bool{}, map[string]bool{}}
		}
		all[name].conns[fmt.Sprint(op.Get("host"), whole(op, "connectionId"))] = true
		if app, _ := op.Get("appName").Str(); app != "" {
			all[name].apps[app] = true
		}
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(all[b].conns), len(all[a].conns)), cmp.Compare(a, b))
	})
	for _, name := range names {
		text := name + ": " + columns.Plural(len(all[name].conns), "connection")
		if apps := slices.Sorted(maps.Keys(all[name].apps)); len(apps) > 0 {
			text += " of " + columns.Clip(strings.Join(apps, ", "), 60)
		}
		out = append(out, doctor.Finding{Check: "drivers", State: doctor.Good, Found: text})
	}
	if out == nil {
		out = []doctor.Finding{{Check: "drivers", State: doctor.Good, Found: "no clients are connected"}}
	}
	return out, nil
}

// shownCertificates checks the certificates that servers present, trusted or not.
func shownCertificates(ctx context.Context, hosts []string, trusted *tls.Config) (out []doctor.Finding) {
	for _, host := range hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, "27017")
		}
		c := trusted.Clone()
		c.InsecureSkipVerify = true
		d := tls.Dialer{Config: c}
		nc, err := d.DialContext(ctx, "tcp", host)
		if err != nil {
			continue // examine reports the error
		}
		for _, cert := range nc.(*tls.Conn).ConnectionState().PeerCertificates {
			out = append(out, doctor.Certificate(host, cert, time.Now()))
		}
		nc.Close()
	}
	return out
}
