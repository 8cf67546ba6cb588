package cli

import (
	"fmt"
	"io"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
)

// callersPrinted is the maximum number of rows that printCallers prints.
const callersPrinted = 10

// printCallers prints the applications and users with most of the recent load and refusals of each collection in a
// request report. It prints nothing if the report has none.
func printCallers(out io.Writer, report bson.Raw) {
	list, _ := report.Get("callers").Array()
	if list.IsEmpty() {
		return
	}
	t := columns.Table{}
	t.Row(" recent", " RU", " runs", " refused", "application", "driver", "user", "collection")
	for v := range list.Values() {
		if len(t.Rows) > callersPrinted {
			break
		}
		d, _ := v.Doc()
		text := func(name string) string {
			s, ok := d.Get(name).Str()
			if !ok {
				return "-"
			}
			return columns.Clip(s, 40)
		}
		t.Row(fmt.Sprintf("%.1f%%", float(d, "recentPercent")), columns.Amount(float(d, "ru")), fmt.Sprint(whole(d, "count")), fmt.Sprint(whole(d, "throttledDocuments")),
			text("appName"), text("driver"), text("user"), text("ns"))
	}
	fmt.Fprint(out, "\nApplications and users with most of the recent load:\n\n")
	t.Print(out)
}
