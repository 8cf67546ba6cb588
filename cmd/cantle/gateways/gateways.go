// Package gateways prints the servers that share a TiKV cluster, for the verb cantle gateways.
package gateways

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
)

// Help is the help text of cantle gateways.
const Help = `Lists the servers that share a database in a TiKV cluster, as reported by one of them. URI
is a connection string such as mongodb://127.0.0.1:27017/.

  up            time since it started
  connections   open connections of clients
  ops/s         requests in the last one or two seconds
  lease         time until its lease expires if it is not renewed
  duties        background jobs that it runs for all servers; another one takes them over when it stops
  state         "draining" while it shuts down and accepts no more commands

A server that does not share its database is listed alone.
`

// serversMax is the maximum number of servers listed.
const serversMax = 1000

// Command returns a find of the live servers, for database config.
func Command() bson.Raw {
	return bson.D{{"find", "mongos"}, {"sort", bson.D{{"_id", 1}}}, {"batchSize", serversMax}, {"singleBatch", true}}.Doc()
}

// Print prints the servers in the reply to Command: as a table, or as a JSON document per server.
func Print(out io.Writer, reply bson.Raw, asJSON bool) {
	found, _ := reply.Get("cursor").Doc()
	list, _ := found.Get("firstBatch").Array()
	if !asJSON {
		table(out, list)
		return
	}
	for v := range list.Values() {
		d, _ := v.Doc()
		fmt.Fprintln(out, ejson.String(d))
	}
}

// table prints a table of the documents of config.mongos.
func table(out io.Writer, list bson.Raw) {
	t := columns.Table{}
	t.Row("address", "server", "version", " up", " connections", " ops/s", " lease", "state", "duties")
	for v := range list.Values() {
		d, _ := v.Doc()
		id, _ := d.Get("_id").Str()
		own, _ := d.Get("cantle").Doc()
		server, _ := own.Get("server").Str()
		version, _ := own.Get("version").Str()
		up, _ := d.Get("up").AsInt64()
		connections, _ := own.Get("connections").AsInt64()
		rate, _ := own.Get("operationsPerSecond").AsFloat()
		lease, state := "-", "serving"
		if n, ok := own.Get("leaseSeconds").AsInt64(); ok {
			lease = fmt.Sprintf("%d s", n)
		}
		if own.Get("draining").Truthy() {
			state = "draining"
		}
		var duties []string
		if names, ok := own.Get("duties").Array(); ok {
			for name := range names.Values() {
				text, _ := name.Str()
				duties = append(duties, text)
			}
		}
		slices.Sort(duties)
		t.Row(id, server, version, fmt.Sprint(time.Duration(up)*time.Second), fmt.Sprint(connections),
			columns.Amount(rate), lease, state, strings.Join(duties, ", "))
	}
	t.Print(out)
}
