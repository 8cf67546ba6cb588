package cli

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// jsonFlag defines the flag of verbs that print tables, by which programs get the same data.
func jsonFlag(f *pflag.FlagSet) *bool {
	return f.Bool("json", false, "print a JSON document instead of a table")
}

// printJSON prints a document as one line of Extended JSON.
func printJSON(out io.Writer, doc bson.Raw) { fmt.Fprintln(out, ejson.String(doc)) }

// ownFields returns a server's reply without the fields that every reply has.
func ownFields(reply bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := reply.Iter(); it.Next(); {
		switch string(it.Name) {
		case "ok", "$clusterTime", "operationTime", "requestCharge":
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return b.Doc()
}
