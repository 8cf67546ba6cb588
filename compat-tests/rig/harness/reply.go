package harness

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// volatile are the top-level fields of replies that differ from run to run and
// are never printed.
var volatile = []string{"$clusterTime", "operationTime", "requestCharge", "electionId", "opTime"}

// parseCommand reads a command in shell notation.
func parseCommand(text string) (bson.Raw, error) {
	doc, err := ejson.Parse(text)
	return bson.Raw(doc), err
}

// Render prints a reply for a case file: an error as "error <code> <codeName>" with its labels as "+<label>" and,
// with messages, its message; any other reply as relaxed Extended JSON on one line. Documents of a cursor's batch
// follow on lines of their own, indented by two spaces. Volatile fields are left out and an open cursor's id is
// printed as 1.
func Render(reply bson.Raw, messages bool) string {
	if ok, isNumber := reply.Lookup("ok").AsFloat64OK(); !isNumber || ok != 1 {
		return renderError(reply, messages)
	}
	rest := bson.D{}
	var batch []string
	elements, _ := reply.Elements()
	for _, e := range elements {
		switch {
		case isVolatile(e.Key()):
		case e.Key() == "cursor" && e.Value().Type == bson.TypeEmbeddedDocument:
			var cursor bson.D
			cursor, batch = renderCursor(e.Value().Document())
			rest = append(rest, bson.E{Key: "cursor", Value: cursor})
		default:
			rest = append(rest, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	return strings.Join(append([]string{Text(rest)}, batch...), "\n")
}

// renderError prints a failed reply.
func renderError(reply bson.Raw, messages bool) string {
	code, _ := reply.Lookup("code").AsInt64OK()
	name, _ := reply.Lookup("codeName").StringValueOK()
	line := fmt.Sprintf("error %d %s", code, name)
	if labels, ok := reply.Lookup("errorLabels").ArrayOK(); ok {
		values, _ := labels.Values()
		for _, v := range values {
			label, _ := v.StringValueOK()
			line += " +" + label
		}
	}
	if message, ok := reply.Lookup("errmsg").StringValueOK(); ok && messages {
		line += ": " + message
	}
	return line
}

// renderCursor splits a cursor into the part that stays on the reply's line and the lines of its batch.
func renderCursor(cursor bson.Raw) (head bson.D, batch []string) {
	elements, _ := cursor.Elements()
	for _, e := range elements {
		switch e.Key() {
		case "firstBatch", "nextBatch":
			array, _ := e.Value().ArrayOK()
			values, _ := array.Values()
			for _, v := range values {
				batch = append(batch, "  "+valueText(v))
			}
			head = append(head, bson.E{Key: e.Key(), Value: int32(len(values))})
		case "id":
			open := int32(0)
			if id, isNumber := e.Value().AsInt64OK(); !isNumber || id != 0 {
				open = 1
			}
			head = append(head, bson.E{Key: "id", Value: open})
		case "postBatchResumeToken", "atClusterTime":
		default:
			head = append(head, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	return head, batch
}

// Text prints a document as relaxed Extended JSON.
func Text(doc any) string {
	raw, err := bson.Marshal(doc)
	if err != nil {
		return fmt.Sprintf("<%v>", err)
	}
	return ejson.String(cbson.Raw(raw))
}

// valueText prints an element of a batch. Only documents belong there; another value is printed with a note,
// because it is a mistake of the server.
func valueText(v bson.RawValue) string {
	if doc, ok := v.DocumentOK(); ok {
		return ejson.String(cbson.Raw(doc))
	}
	return "not a document: " + v.String()
}

// isVolatile reports whether a top-level field is left out of the print.
func isVolatile(name string) bool {
	for _, v := range volatile {
		if v == name {
			return true
		}
	}
	return false
}
