package lint

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
)

// Requests adds the features that clients used through a server's Cosmos address, and that the account lacks, as
// findings, by application. counted is the field account in the server's reply to GetRequestReport.
func (l *Linter) Requests(counted bson.Raw) {
	list, _ := counted.Get("refuses").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		title, _ := d.Get("kind").Str()
		name, _ := d.Get("name").Str()
		kind, ok := cosmos.KindOf(title)
		if !ok || l.account.Has(kind.Find(name)) {
			continue
		}
		at := location{in: "an application without a name"}
		if app, _ := d.Get("appName").Str(); app != "" {
			at.in = "application " + app
		}
		n, _ := d.Get("count").AsInt64()
		l.add(finding{feature{kind, name}, at, served, n}, true)
	}
}
