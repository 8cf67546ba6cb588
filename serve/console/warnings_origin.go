package console

import (
	"fmt"

	"github.com/cantledb/cantle/bson"
)

// origin is the application and the user from which most of a load comes.
type origin struct {
	App    string  `json:"appName,omitempty"`
	Driver string  `json:"driver,omitempty"`
	User   string  `json:"user,omitempty"`
	Share  float64 `json:"share"` // at least, from 0 to 1
	Of     string  `json:"of"`    // RU or refusals
}

// leastShare is the least share of a load of which warnings name the origin.
const leastShare = 0.1

// originOf returns the origin of most of a load: the one of a list of callers, as the request report and GetPartitions
// have it, with the highest percentage; nil if that is below leastShare. ns selects the callers of one collection; it is
// "" for lists without collections.
func originOf(callers bson.Value, ns, percent, of string) (most *origin) {
	list, _ := callers.Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		if in, _ := d.Get("ns").Str(); in != ns {
			continue
		}
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
		callers := report.Get("callers")
		o := originOf(callers, w.NS, "recentThrottledPercent", "refusals")
		if o == nil {
			o = originOf(callers, w.NS, "recentPercent", "RU")
		}
		w.attribute(o)
	}
}
