package status

import (
	"fmt"
	"slices"

	"github.com/cantledb/cantle/bson"
)

// hiddenValue replaces a value in the slow log, unless Config.LogValues is set.
// Manual: reference/configuration-options#security.redactClientLogData.
const hiddenValue = "###"

// loggedElements is the number of elements of an array that the slow log shows.
const loggedElements = 10

// loggedCommand returns a command as the slow log shows it: without the documents that it stores, and without session
// and signature, on which its cost does not depend. Unless values is set, the values of filters, changes and stages are
// replaced by hiddenValue, and so are top-level values other than those of shownTexts and shownOptions; fields and
// operators are shown.
func loggedCommand(d bson.Raw, values bool) bson.Raw {
	b := bson.NewBuilder(nil)
	first := true // the command and its collection
	for it := d.Iter(); it.Next(); first = false {
		if first && !nested(it.Value) {
			b.ValueBytes(it.Name, it.Value)
			continue
		}
		switch name := string(it.Name); name {
		case "documents", "lsid", "$clusterTime", "$configTime", "$topologyTime":
		case "$truncated": // by the profiler; its text begins with values
			b.Bool(name, true)
		case "explain":
			if inner, ok := it.Value.Doc(); ok {
				b.Raw(name, loggedCommand(inner, values))
			} else {
				appendShown(b, it.Name, it.Value, values)
			}
		case "ops": // of bulkWrite: its statements
			list, _ := it.Value.Array()
			appendElements(b, name, list, func(v bson.Value) {
				if op, ok := v.Doc(); ok {
					b.Raw("", loggedStatement(op, values))
				}
			})
		default:
			appendShown(b, it.Name, it.Value, values)
		}
	}
	return b.Doc()
}

// loggedStatement returns a statement of bulkWrite as the slow log shows it: without the document of an insert.
func loggedStatement(op bson.Raw, values bool) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := op.Iter(); it.Next(); {
		if string(it.Name) != "document" {
			appendShown(b, it.Name, it.Value, values)
		}
	}
	return b.Doc()
}

// shownTexts are the top-level fields of commands whose texts are shown without values: names of databases,
// collections, indexes and fields.
var shownTexts = []string{"$db", "collection", "key", "hint", "index", "out", "shardKey", "to", "viewOn"}

// shownOptions are the top-level fields of commands, and of statements of bulkWrite, whose numbers and booleans are
// shown without values, because they are options.
var shownOptions = []string{"allowDiskUse", "allowPartialResults", "authorizedCollections", "autocommit", "awaitData", "background", "batchSize",
	"bypassDocumentValidation", "capped", "delete", "dropTarget", "errorsOnly", "expireAfterSeconds", "force", "full", "insert", "jsMode", "limit", "max",
	"maxAwaitTimeMS", "maxTimeMS", "multi", "nameOnly", "new", "noCursorTimeout", "offerThroughput", "ordered", "remove", "returnKey", "sampleRate",
	"scale", "showRecordId", "singleBatch", "size", "skip", "slowms", "startTransaction", "stmtId", "tailable", "txnNumber", "unique", "update", "upsert",
	"verbose"}

// shownDocuments are the top-level fields of commands whose documents are options and have no values of documents.
var shownDocuments = []string{"collation", "readConcern", "writeConcern", "cursor", "$readPreference"}

// appendShown appends a field of a command: as it is if values is set or if a list has it, otherwise hidden.
func appendShown(b *bson.Builder, field []byte, v bson.Value, values bool) {
	name := string(field)
	keys, isDoc := v.Doc()
	shown := values
	switch {
	case isDoc:
		shown = shown || slices.Contains(shownDocuments, name)
	case v.Type == bson.TypeString:
		shown = shown || slices.Contains(shownTexts, name)
	case v.IsNumber() || v.Type == bson.TypeBool:
		shown = shown || slices.Contains(shownOptions, name)
	}
	switch {
	case shown:
		b.ValueBytes(field, v)
	case isDoc && (name == "sort" || name == "hint"):
		appendKeys(b, name, keys)
	default:
		appendHidden(b, name, v)
	}
}

// appendKeys appends the fields of a sort or of the key of an index with their directions and kinds; other values are
// hidden.
func appendKeys(b *bson.Builder, name string, keys bson.Raw) {
	b.BeginDoc(name)
	for it := keys.Iter(); it.Next(); {
		n, isNumber := it.Value.AsFloat()
		kind, _ := it.Value.Str()
		if isNumber && (n == 1 || n == -1) || slices.Contains([]string{"hashed", "text", "2d", "2dsphere"}, kind) {
			b.ValueBytes(it.Name, it.Value)
		} else {
			appendHidden(b, string(it.Name), it.Value)
		}
	}
	b.End()
}

// nested reports whether a value is a document or an array.
func nested(v bson.Value) bool { return v.Type == bson.TypeDocument || v.Type == bson.TypeArray }

// appendHidden appends a value whose scalars are replaced by hiddenValue.
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
	appendElements(b, name, list, func(x bson.Value) { appendHidden(b, "", x) })
}

// appendElements appends an array: the first elements of a list by show, and the number of the others, which seldom have
// other fields.
func appendElements(b *bson.Builder, name string, list bson.Raw, show func(bson.Value)) {
	b.BeginArray(name)
	n := 0
	for v := range list.Values() {
		if n++; n <= loggedElements {
			show(v)
		}
	}
	if n > loggedElements {
		b.String("", fmt.Sprintf("... %d more", n-loggedElements))
	}
	b.End()
}
