package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/wire/command/status"
)

// part is one file of a bundle.
type part struct {
	name, holds string
	local       bool // not read from the server alone: it does not show that the server answers
	alone       bool // needs no server
	// collect returns the contents of the file. With an error it may return a part of them.
	collect func(ctx context.Context, b *Bundle) ([]byte, error)
}

// parts are the files in the order in which they are collected.
var parts = []part{
	{"client.json", "version and modules of this program", true, true, client},
	{"server/buildInfo.json", "version and modules of the server", false, false, reply(bson.D{{"buildInfo", 1}})},
	{"server/hostInfo.json", "machine, system, memory, processors", false, false, reply(bson.D{{"hostInfo", 1}})},
	{"server/settings.json", "command line of the server, without secrets", false, false, settings},
	{"server/parameters.json", "server parameters", false, false, reply(bson.D{{"getParameter", "*"}})},
	{"server/status.json", "serverStatus: counts of connections, memory, storage, commands", false, false, reply(bson.D{{"serverStatus", 1}})},
	{"server/doctor.json", "findings of cantle doctor", true, false, findings},
	{"server/operations.json", "running operations, without the values of their commands", false, false, operations},
	{"server/log.txt", "the last lines of the log, without values and errors' texts", false, false, logLines},
	{"server/metrics.txt", "metrics for Prometheus, if this machine can read them", false, false, metrics},
	{"requests.json", "the cost of commands by their shape and application, without values and users", false, false, requestReport},
	{"collections.json", "collections, indexes, throughput and partitions, without bounds and hot values", false, false, collections},
	{"history/lines.json", "the load of the last 15 minutes", false, false, console("lines", nil)},
	{"history/heat.json", "the heat map of the last 15 minutes, without bounds", false, false, heat},
	{"history/events.json", "splits, merges and changes of throughput of the last 7 days", false, false, events},
}

// indented returns the JSON of a value, for people.
func indented(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return out.Bytes(), err
}

// extended returns a document as indented Extended JSON.
func extended(d bson.Raw) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(ejson.String(d)), "", " "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// replyFields are fields of every reply that are of no use.
var replyFields = []string{"ok", "$clusterTime", "operationTime"}

// reply returns the function of a part that is the reply of a command on admin.
func reply(command bson.D) func(context.Context, *Bundle) ([]byte, error) {
	return func(ctx context.Context, b *Bundle) ([]byte, error) {
		d, err := b.Run(ctx, "admin", command.Doc())
		if err != nil {
			return nil, err
		}
		return extended(without(d, replyFields...))
	}
}

// requestReport is the function of the part with the request report.
func requestReport(ctx context.Context, b *Bundle) ([]byte, error) {
	d, err := b.Run(ctx, "admin", bson.D{{"customAction", "GetRequestReport"}, {"top", 200}, {"history", true}}.Doc())
	if err != nil {
		return nil, err
	}
	return extended(withoutUsers(without(d, replyFields...)))
}

// without returns a document without some of its fields.
func without(d bson.Raw, names ...string) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range d.Fields() {
		if !slices.Contains(names, string(name)) {
			b.ValueBytes(name, v)
		}
	}
	return b.Doc()
}

// client describes this program.
func client(context.Context, *Bundle) ([]byte, error) {
	info, _ := debug.ReadBuildInfo()
	modules := []string{}
	if info != nil {
		for _, m := range info.Deps {
			modules = append(modules, m.Path+" "+m.Version)
		}
	}
	return indented(map[string]any{"version": daemon.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "time": time.Now().UTC().Format(time.RFC3339), "modules": modules})
}

// settings returns the command line of the server. The server hides secrets in it; those in connection strings are
// hidden here.
func settings(ctx context.Context, b *Bundle) ([]byte, error) {
	d, err := b.Run(ctx, "admin", bson.D{{"getCmdLineOpts", 1}}.Doc())
	if err != nil {
		return nil, err
	}
	return indented(map[string]any{"argv": arguments(d), "parsed": json.RawMessage(ejson.String(pickDoc(d, "parsed")))})
}

// pickDoc returns a document in a field of a document, empty without it.
func pickDoc(d bson.Raw, name string) bson.Raw {
	if inner, ok := d.Get(name).Doc(); ok {
		return inner
	}
	return bson.D{}.Doc()
}

// arguments returns the command line in a reply of getCmdLineOpts.
func arguments(d bson.Raw) (out []string) {
	list, _ := d.Get("argv").Array()
	for v := range list.Values() {
		text, _ := v.Str()
		out = append(out, status.WithoutCredentials(text))
	}
	return out
}

// findings returns the findings of cantle doctor.
func findings(ctx context.Context, b *Bundle) ([]byte, error) {
	found, err := b.Doctor(ctx)
	if err != nil {
		return nil, err
	}
	return indented(found)
}

// operations returns the running operations.
func operations(ctx context.Context, b *Bundle) ([]byte, error) {
	d, err := b.Run(ctx, "admin", bson.D{{"currentOp", 1}, {"$all", true}}.Doc())
	if err != nil {
		return nil, err
	}
	list, _ := d.Get("inprog").Array()
	out := []json.RawMessage{}
	for v := range list.Values() {
		op, _ := v.Doc()
		out = append(out, json.RawMessage(ejson.String(operation(op))))
	}
	return indented(out)
}

// logLines returns the last lines of the log.
func logLines(ctx context.Context, b *Bundle) ([]byte, error) {
	d, err := b.Run(ctx, "admin", bson.D{{"getLog", "global"}}.Doc())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	list, _ := d.Get("log").Array()
	cut := 0
	for v := range list.Values() {
		text, _ := v.Str()
		if line, ok := logLine(text); ok {
			out.WriteString(line + "\n")
		} else {
			cut++
		}
	}
	if cut > 0 {
		fmt.Fprintf(&out, "left out: %s that were cut, or are not JSON\n", columns.Plural(cut, "line"))
	}
	if out.Len() == 0 {
		out.WriteString("the log has no lines\n")
	}
	return out.Bytes(), nil
}

// metrics returns the metrics of the server.
func metrics(ctx context.Context, b *Bundle) ([]byte, error) { return b.Metrics(ctx) }

// console returns the function of a part that is an answer of the server's console.
func console(path string, args url.Values) func(context.Context, *Bundle) ([]byte, error) {
	return func(ctx context.Context, b *Bundle) ([]byte, error) { return b.Console(ctx, path, args) }
}

// heat returns the heat map without the bounds of partitions, and without the verdict, which may name a value.
func heat(ctx context.Context, b *Bundle) ([]byte, error) {
	text, err := b.Console(ctx, "heat", url.Values{})
	if err != nil {
		return nil, err
	}
	var kept struct {
		Step    int64   `json:"step"`
		From    int64   `json:"from"`
		Columns int     `json:"columns"`
		Metric  string  `json:"metric"`
		Least   float64 `json:"least"`
		Ratio   float64 `json:"ratio"`
		Rows    []struct {
			Partition  int     `json:"partition"`
			Collection uint64  `json:"collection"`
			NS         string  `json:"ns"`
			From       float64 `json:"from"`
			To         float64 `json:"to"`
			First      int64   `json:"first"`
			Until      int64   `json:"until"`
			Others     int     `json:"others"`
			Cells      []byte  `json:"cells"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, err
	}
	return indented(kept)
}

// eventsPast is the time of which events are kept, in seconds before now.
const eventsPast = "-604800"

// events returns the events of collections without their texts, which may name values.
func events(ctx context.Context, b *Bundle) ([]byte, error) {
	text, err := b.Console(ctx, "events", url.Values{"from": {eventsPast}})
	if err != nil {
		return nil, err
	}
	var kept []struct {
		At         int64  `json:"at"`
		Kind       string `json:"kind"`
		NS         string `json:"ns"`
		Partitions []int  `json:"partitions,omitempty"`
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, err
	}
	return indented(kept)
}
