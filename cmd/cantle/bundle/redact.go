package bundle

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
)

// pick returns the fields of a document that are listed, as they are.
func pick(d bson.Raw, names ...string) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range d.Fields() {
		if slices.Contains(names, string(name)) {
			b.ValueBytes(name, v)
		}
	}
	return b.Doc()
}

// shapeDepth is the depth below which a shape is cut.
const shapeDepth = 50

// appendShapes appends the shapes of the fields of a document; what is nested more than depth deep is cut.
func appendShapes(b *bson.Builder, d bson.Raw, depth int) {
	for name, v := range d.Fields() {
		appendShape(b, name, v, depth)
	}
}

// appendShape appends the shape of one field: documents and arrays with the names of their fields and, in place of each
// other value, the name of its type, such as "?string". It serves for validators, filters of partial indexes, and
// pipelines of views.
func appendShape(b *bson.Builder, name []byte, v bson.Value, depth int) {
	inner, isDoc := v.Doc()
	array, isArray := v.Array()
	switch {
	case depth == 0 || !isDoc && !isArray:
		b.String(string(name), "?"+v.Type.String())
	case isDoc:
		b.BeginDocBytes(name)
		appendShapes(b, inner, depth-1)
		b.End()
	default:
		b.BeginArrayBytes(name)
		appendShapes(b, array, depth-1)
		b.End()
	}
}

// collectionOptions are the options of a collection that have no values of documents.
var collectionOptions = []string{"capped", "size", "max", "timeseries", "expireAfterSeconds", "clusteredIndex", "collation", "changeStreamPreAndPostImages",
	"validationLevel", "validationAction", "viewOn", "autoIndexId", "expireAfterLastWrite"}

// indexFields are the fields of an index that have no values of documents. The key has names of fields, and kinds.
var indexFields = []string{"v", "key", "name", "unique", "sparse", "expireAfterSeconds", "hidden", "weights", "default_language", "language_override", "collation",
	"textIndexVersion", "2dsphereIndexVersion", "bits", "wildcardProjection", "clustered", "prepareUnique", "expireAfterLastWrite"}

// keepOrShape returns the listed fields of a document as they are, and the shapes of the others.
func keepOrShape(d bson.Raw, keep []string) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range d.Fields() {
		if slices.Contains(keep, string(name)) {
			b.ValueBytes(name, v)
		} else {
			appendShape(b, name, v, shapeDepth)
		}
	}
	return b.Doc()
}

// operationFields are the fields of currentOp that have no values of documents, addresses or users.
var operationFields = []string{"type", "host", "desc", "connectionId", "appName", "clientMetadata", "active", "currentOpTime", "opid", "secs_running", "microsecs_running",
	"op", "ns", "planSummary", "planCacheShapeHash", "queryShapeHash", "numYields", "waitingForLock", "killPending", "locks", "lockStats", "waitingForFlowControl",
	"waitingForLatch", "progress", "dataThroughputLastSecond", "dataThroughputAverage"}

// operation returns an operation of currentOp without values: of its command the name, and the names of its arguments.
func operation(op bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range op.Fields() {
		switch {
		case slices.Contains([]string{"msg", "transaction"}, string(name)):
			appendShape(b, name, v, shapeDepth)
		case slices.Contains(operationFields, string(name)):
			b.ValueBytes(name, v)
		case slices.Contains([]string{"command", "originatingCommand"}, string(name)):
			d, _ := v.Doc()
			b.BeginArrayBytes(name)
			for argument := range d.Fields() {
				b.String("", string(argument))
			}
			b.End()
		}
	}
	return b.Doc()
}

// withoutUsers returns a request report without the users of its callers.
func withoutUsers(d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range d.Fields() {
		list, isArray := v.Array()
		if !isArray || string(name) != "requests" && string(name) != "callers" {
			b.ValueBytes(name, v)
			continue
		}
		b.BeginArrayBytes(name)
		for x := range list.Values() {
			one, _ := x.Doc()
			b.Raw("", withoutUsers(without(one, "user")))
		}
		b.End()
	}
	return b.Doc()
}

// partition returns a partition of GetPartitions without its bounds and without values of its shard key, of which their
// costs stay.
func partition(p bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range p.Fields() {
		list, isArray := v.Array()
		_, isDoc := v.Doc()
		switch {
		case string(name) == "min" || string(name) == "max":
		case isArray: // hottestByRU and the like
			b.BeginArrayBytes(name)
			for x := range list.Values() {
				one, _ := x.Doc()
				b.Raw("", pick(one, "partition", "ru", "bytes", "percentOfLimit", "refused", "requests"))
			}
			b.End()
		case isDoc:
		default:
			b.ValueBytes(name, v)
		}
	}
	return b.Doc()
}

// partitions returns the reply of GetPartitions without values.
func partitions(reply bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Splice(pick(reply, "shardKeyDefinition", "mapVersion", "autoscaledTo", "logicalPartitionLimit", "percentOfLimit", "incomplete").Elements())
	list, _ := reply.Get("partitions").Array()
	b.BeginArray("partitions")
	for v := range list.Values() {
		p, _ := v.Doc()
		b.Raw("", partition(p))
	}
	b.End()
	return b.Doc()
}

// safeStrings are the fields of a log line whose texts have no values of documents, addresses or users.
var safeStrings = []string{"level", "s", "c", "ctx", "time", "version", "compat", "took", "room", "ns", "collection", "database", "index", "job", "type", "planSummary",
	"planCacheShapeHash", "queryShapeHash", "appName", "protocol", "drain", "prices", "itsPrices", "waits", "kind", "action", "mechanism", "listener", "reason", "in", "file", "folder"}

// logLine returns a line of the log without values: numbers, texts of the fields in safeStrings, and the message up to
// the first value in it. ok is false for a line that is not JSON, as one that was cut is not.
func logLine(line string) (out string, ok bool) {
	var all map[string]any
	if json.Unmarshal([]byte(line), &all) != nil {
		return "", false
	}
	text, err := json.Marshal(logFields(all, 2))
	return string(text), err == nil
}

// logFields returns the fields of a log line, or of a document in it, that have no values.
func logFields(all map[string]any, depth int) map[string]any {
	kept := map[string]any{}
	for name, v := range all {
		switch v := v.(type) {
		case float64, bool:
			kept[name] = v
		case string:
			switch {
			case slices.Contains(safeStrings, name):
				kept[name] = v
			case name == "message" || name == "msg":
				kept[name] = sentence(v)
			}
		case map[string]any:
			switch {
			case name == "t" && v["$date"] != nil:
				kept[name] = v
			case name == "command" || name == "originatingCommand":
				names := []string{}
				for argument := range v {
					names = append(names, argument)
				}
				slices.Sort(names)
				kept[name] = names
			case (name == "attr" || name == "storage") && depth > 0:
				kept[name] = logFields(v, depth-1)
			}
		}
	}
	return kept
}

// sentence returns a message up to the first quotation, document or list in it.
func sentence(text string) string {
	if i := strings.IndexAny(text, "{[\"`"); i >= 0 {
		return text[:i] + "…"
	}
	return text
}
