package daemon

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestRefusalsLog checks that the log has one line for the partition that refused requests, with their number; and the
// most expensive value only with --log-values.
func TestRefusalsLog(t *testing.T) {
	for _, values := range []bool{false, true} {
		var cfg Config
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		cfg.Flags(f)
		if err := f.Parse([]string{"--memory", "--listen", "127.0.0.1:0", "--drain", "1s", "--log-format", "json", "--enable-test-commands"}); err != nil {
			t.Fatal(err)
		}
		cfg.LogValues = values
		var log lockedBuffer
		d, err := Start(t.Context(), cfg, &log)
		if err != nil {
			t.Fatal(err)
		}
		client, err := mongo.Connect(options.Client().ApplyURI(d.URI()).SetRetryWrites(false))
		if err != nil {
			t.Fatal(err)
		}
		db := client.Database("shop")
		run := func(cmd bson.D) error { return db.RunCommand(t.Context(), cmd).Err() }
		for _, cmd := range []bson.D{
			{{Key: "customAction", Value: "Clock"}, {Key: "stop", Value: true}},
			{{Key: "customAction", Value: "CreateCollection"}, {Key: "collection", Value: "orders"}, {Key: "offerThroughput", Value: 400}, {Key: "shardKey", Value: "tenant"}},
		} {
			if err := run(cmd); err != nil {
				t.Fatal(err)
			}
		}
		refused := 0
		for i := range 200 {
			if run(bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: i}, {Key: "tenant", Value: "acme"}}}}}) != nil {
				refused++
			}
		}
		if refused == 0 {
			t.Fatal("nothing was refused")
		}
		d.history.Update()
		d.logRefusals()
		d.logRefusals() // nothing is new
		if err := client.Disconnect(t.Context()); err != nil {
			t.Error(err)
		}
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
		var lines []map[string]any
		for dec := json.NewDecoder(strings.NewReader(log.String())); dec.More(); {
			var line map[string]any
			if err := dec.Decode(&line); err != nil {
				t.Fatal(err)
			}
			if line["refused"] != nil {
				lines = append(lines, line)
			}
		}
		if len(lines) != 1 || lines[0]["level"] != "warn" || lines[0]["collection"] != "shop.orders" || lines[0]["refused"] != float64(refused) || lines[0]["ruPerSecond"] != 400.0 {
			t.Errorf("%d refused: %v", refused, lines)
			continue
		}
		if top, shown := lines[0]["top"]; shown != values || values && top != `{"tenant":"acme"}` {
			t.Errorf("with values %v: %v", values, lines[0])
		}
	}
}
