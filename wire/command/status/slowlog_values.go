package status

import (
	"fmt"

	"github.com/cantledb/cantle/bson"
)

// hiddenValue replaces a value in the slow log, unless Config.LogValues is set.
// Manual: reference/configuration-options#security.redactClientLogData.
const hiddenValue = "###"

// loggedElements is the number of elements of an array that the slow log shows.
const loggedElements = 10

// loggedCommand returns a command as the slow log shows it: without the documents that it stores, and without session
// and signature, on which its cost does not depend. Unless values is set, the values of filters, changes and stages are
// replaced by hiddenValue; fields and operators are shown.
func loggedCommand(d bson.Raw, values bool) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "documents", "lsid", "$clusterTime", "$configTime", "$topologyTime":
		case "$truncated": // by the profiler; its text begins with values
			b.Bool(name, true)
		case "explain":
			if inner, ok := it.Value.Doc(); ok {
				b.Raw(name, loggedCommand(inner, values))
			} else {
				b.ValueBytes(it.Name, it.Value)
			}
		case "ops": // of bulkWrite: its statements
			list, _ := it.Value.Array()
			b.BeginArray(name)
			n := 0
			for v := range list.Values() {
				if n++; n > loggedElements {
					continue
				}
				if op, ok := v.Doc(); ok {
					b.Raw("", loggedStatement(op, values))
				}
			}
			appendMore(b, n)
			b.End()
		case "sort", "hint", "collation", "readConcern", "writeConcern", "cursor", "comment", "$readPreference":
			b.ValueBytes(it.Name, it.Value)
		default:
			if values || !nested(it.Value) {
				b.ValueBytes(it.Name, it.Value)
			} else {
				appendHidden(b, name, it.Value)
			}
		}
	}
	return b.Doc()
}

// loggedStatement returns a statement of bulkWrite as the slow log shows it: without the document of an insert.
func loggedStatement(op bson.Raw, values bool) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := op.Iter(); it.Next(); {
		switch name := string(it.Name); {
		case name == "document":
		case values || !nested(it.Value):
			b.ValueBytes(it.Name, it.Value)
		default:
			appendHidden(b, name, it.Value)
		}
	}
	return b.Doc()
}

// nested reports whether a value is a document or an array.
func nested(v bson.Value) bool { return v.Type == bson.TypeDocument || v.Type == bson.TypeArray }

// appendHidden appends a value whose scalars are replaced by hiddenValue. Of a long array only the first elements are
// kept, because the others seldom have other fields.
func appendHidden(b *bson.Builder, name string, v bson.Value) {
	if doc, ok := v.Doc(); ok {
		b.BeginDoc(name)
		for it := doc.Iter(); it.Next(); {
			appendHidden(b, string(it.Name), it.Value)
		}
		b.End()
		return
	}
	list, ok := v.Array()
	if !ok {
		b.String(name, hiddenValue)
		return
	}
	b.BeginArray(name)
	n := 0
	for x := range list.Values() {
		if n++; n <= loggedElements {
			appendHidden(b, "", x)
		}
	}
	appendMore(b, n)
	b.End()
}

// appendMore appends the number of elements that are left out of a list of n.
func appendMore(b *bson.Builder, n int) {
	if n > loggedElements {
		b.String("", fmt.Sprintf("... %d more", n-loggedElements))
	}
}
