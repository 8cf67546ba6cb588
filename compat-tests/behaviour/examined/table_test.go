package examined

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/internal/casefile"
)

// row is one query of a table.
type row struct {
	line    int
	text    string
	command bson.D   // without what explain or the run of the query adds
	keys    int64    // the largest number of index keys that the plan may examine
	docs    int64    // the largest number of documents
	four    [2]int64 // keys and documents in four partitions together
	present []string // stages of the plan
	absent  []string // stages that the plan does not have
	several bool     // the query has several right answers
	open    string   // the reason for which the server examines more; "" if it does not
}

// queries are the commands of a table: for each the arguments of a row, and the command that they make.
var queries = map[string]func(on string, args bson.A) bson.D{
	"aggregate": func(on string, args bson.A) bson.D {
		return with(bson.D{{Key: "aggregate", Value: on}, {Key: "pipeline", Value: args[0]}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: batchRows}}}}, args[1:])
	},
	"count": func(on string, args bson.A) bson.D {
		return with(bson.D{{Key: "count", Value: on}, {Key: "query", Value: args[0]}}, args[1:])
	},
	"delete": func(on string, args bson.A) bson.D {
		one := with(bson.D{{Key: "q", Value: args[0]}, {Key: "limit", Value: 0}}, args[1:])
		return bson.D{{Key: "delete", Value: on}, {Key: "deletes", Value: bson.A{one}}}
	},
	"distinct": func(on string, args bson.A) bson.D {
		return with(bson.D{{Key: "distinct", Value: on}, {Key: "key", Value: args[0]}, {Key: "query", Value: args[1]}}, args[2:])
	},
	"find": func(on string, args bson.A) bson.D {
		return with(bson.D{{Key: "find", Value: on}, {Key: "filter", Value: args[0]}, {Key: "batchSize", Value: batchRows}}, args[1:])
	},
	"update": func(on string, args bson.A) bson.D {
		one := with(bson.D{{Key: "q", Value: args[0]}, {Key: "u", Value: args[1]}, {Key: "multi", Value: true}}, args[2:])
		return bson.D{{Key: "update", Value: on}, {Key: "updates", Value: bson.A{one}}}
	},
}

// with adds the options of a row, if it has some, to a command.
func with(cmd bson.D, options bson.A) bson.D {
	for _, o := range options {
		cmd = append(cmd, o.(bson.D)...)
	}
	return cmd
}

// values parses values in shell notation, separated by commas.
func values(text string) (bson.A, error) {
	raw, err := ejson.Parse("{v: [" + text + "]}")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	var doc struct {
		V bson.A `bson:"v"`
	}
	return doc.V, bson.Unmarshal(raw, &doc)
}

// parseRow parses one query of a table on a collection.
func parseRow(on string, a casefile.Arg) (*row, error) {
	cut := strings.LastIndex(a.Value, "|")
	if cut < 0 {
		return nil, fmt.Errorf("line %d has no bounds", a.Line)
	}
	r := &row{line: a.Line, text: a.Key + ": " + strings.TrimSpace(a.Value[:cut]), keys: -1, docs: -1, four: [2]int64{-1, -1}}
	args, err := values(a.Value[:cut])
	if err != nil {
		return nil, err
	}
	if least := map[string]int{"distinct": 2, "update": 2}[a.Key]; len(args) < max(1, least) {
		return nil, fmt.Errorf("line %d has too few arguments", a.Line)
	}
	r.command = queries[a.Key](on, args)
	bounds, reason, open := strings.Cut(a.Value[cut+1:], "open:")
	if r.open = strings.TrimSpace(reason); open && r.open == "" {
		return nil, fmt.Errorf("line %d is open without a reason", a.Line)
	}
	if err := r.parseBounds(strings.Fields(bounds)); err != nil {
		return nil, fmt.Errorf("line %d: %w", a.Line, err)
	}
	return r, nil
}

// parseBounds parses the words behind a query.
func (r *row) parseBounds(words []string) error {
	each := false
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		var into []*int64
		switch {
		case word == "keys":
			into = []*int64{&r.keys}
		case word == "docs":
			into = []*int64{&r.docs}
		case word == "four":
			into = []*int64{&r.four[0], &r.four[1]}
		case word == "each":
			each = true
		case word == "unordered":
			r.several = true
		case strings.HasPrefix(word, "!"):
			r.absent = append(r.absent, word[1:])
		case word == strings.ToUpper(word):
			r.present = append(r.present, word)
		default:
			return fmt.Errorf("%q is not a bound", word)
		}
		for i, n := range into {
			if i >= len(words) {
				return fmt.Errorf("%s without a number", word)
			}
			var err error
			if *n, err = strconv.ParseInt(words[i], 10, 64); err != nil {
				return err
			}
		}
		words = words[len(into):]
	}
	switch {
	case r.keys < 0 || r.docs < 0:
		return errors.New("no bound of keys or of documents")
	case each:
		r.four = [2]int64{partitions * r.keys, partitions * r.docs}
	case r.four[0] < 0 && r.keys > 0:
		r.four = [2]int64{r.keys + partitions, r.docs}
	case r.four[0] < 0:
		r.four = [2]int64{0, r.docs}
	}
	return nil
}

// needsIndex returns whether the text of the query has an operator or an option that needs an index, so that a database
// without indexes refuses it.
func (r *row) needsIndex() bool {
	for _, sign := range []string{"$text", "$near", "$geoNear", "min:", "max:"} {
		if strings.Contains(r.text, sign) {
			return true
		}
	}
	return false
}

// limited returns whether a find returns some of the documents that match.
func (r *row) limited() bool {
	return strings.HasPrefix(r.text, "find") && (strings.Contains(r.text, "limit:") || strings.Contains(r.text, "skip:"))
}
