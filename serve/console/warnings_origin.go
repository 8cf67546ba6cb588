package console

import (
	"fmt"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// origin is the application and the user from which most of a load comes.
type origin struct {
	App    string  `json:"appName,omitempty"`
	Driver string  `json:"driver,omitempty"`
	User   string  `json:"user,omitempty"`
	Share  float64 `json:"share"` // at least, from 0 to 1
	Of     string  `json:"of"`    // what it is a share of: RU or refusals
}

// leastShare is the least share of a load of which warnings name the origin.
const leastShare = 0.1

// originOf returns the origin of most of a load: the one of a list of callers, as the request report and GetPartitions
// have it, with the highest percentage; nil if that is below leastShare.
func originOf(callers bson.Value, percent, of string) (most *origin) {
	list, _ := callers.Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		p, _ := d.Get(percent).AsFloat()
		if share := p / 100; share >= leastShare && (most == nil || share > most.Share) {
			most = &origin{Share: share, Of: of}
			most.App, _ = d.Get("appName").Str()
			most.Driver, _ = d.Get("driver").Str()
			most.User, _ = d.Get("user").Str()
		}
	}
	return most
}

// String describes the origin: 86 % of the RU by application shop, user ada@admin.
func (o *origin) String() string {
	by := "a client without a name"
	switch {
	case o.App != "":
		by = "application " + o.App
	case o.Driver != "":
		by = "a client of the driver " + o.Driver
	}
	if o.User != "" {
		by += ", user " + o.User
	}
	return fmt.Sprintf("%.0f %% of the %s by %s", 100*o.Share, o.Of, by)
}

// attribute adds an origin to a warning; nil adds nothing.
func (w *warning) attribute(o *origin) {
	if o != nil {
		w.Origin = o
		w.Text += "; " + o.String()
	}
}

// addOrigins adds to the present warnings about partitions that have no origin the application and the user with most
// of the recent refusals, or if there are none of the load, of the collection. report is the request report.
func addOrigins(list []warning, report bson.Raw) {
	for i := range list {
		w := &list[i]
		if !w.Active || w.Origin != nil || w.Kind != "hot" && w.Kind != "throttled" {
			continue
		}
		of := callersOf(report, w.NS)
		o := originOf(of, "recentThrottledPercent", "refusals")
		if o == nil {
			o = originOf(of, "recentPercent", "RU")
		}
		w.attribute(o)
	}
}

// callersOf returns the callers of one collection in a request report.
func callersOf(report bson.Raw, ns string) bson.Value {
	out := bson.A{}
	list, _ := report.Get("callers").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		if of, _ := d.Get("ns").Str(); of == ns {
			out = append(out, d)
		}
	}
	return bson.D{{"callers", out}}.Doc().Get("callers")
}

// addValue adds the most expensive shard key value of a hot partition, with the application and user that use it most,
// to the partition's warning, as far as the user may see them.
func (w *warning) addValue(hottest bson.Value) {
	all, most, top := 0.0, 0.0, bson.Raw(nil)
	list, _ := hottest.Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		ru, _ := d.Get("ru").AsFloat()
		if all += ru; ru > most {
			most, top = ru, d
		}
	}
	if top == nil {
		return
	}
	w.Share = most / all
	if key, ok := top.Get("key").Doc(); ok {
		w.Value = ejson.String(key)
		w.Text += fmt.Sprintf("; %s takes %.0f %% of it", shortValue(key), 100*w.Share)
	} else {
		w.Text += fmt.Sprintf("; one value takes %.0f %% of it", 100*w.Share)
	}
	w.attribute(originOf(top.Get("callers"), "ruPercent", "RU"))
}

// shortValue prints the shard key of a value, in at most 60 bytes: the value alone if the key has one field.
func shortValue(key bson.Raw) string {
	text := ejson.String(key)
	if first, ok := key.First(); ok && key.Len() == 1 {
		text = strings.Trim(ejson.ValueString(first.Value), `"`)
	}
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:57], "") + "…"
	}
	return text
}
