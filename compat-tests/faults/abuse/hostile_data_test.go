package abuse

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
)

// hostileIndexes are made before the hostile commands.
var hostileIndexes = []string{
	`{createIndexes: "small", indexes: [{name: "abc", key: {a: 1, b: 1, c: 1}}, {name: "g", key: {g: "2dsphere"}}, {name: "t", key: {t: "text"}}]}`,
	`{create: "v0", viewOn: "small", pipeline: []}`,
	`{create: "checked", validator: {$jsonSchema: {properties: {x: {enum: [1, 2, "x"]}, a: {uniqueItems: true}}}}}`,
}

// hostileDocuments returns the documents that the hostile commands of TestHostile read, by collection.
func hostileDocuments() map[string][]any {
	small := make([]any, 20_000)
	for i := range small {
		small[i] = bson.D{{Key: "_id", Value: i}, {Key: "a", Value: i % 100}, {Key: "b", Value: i % 77}, {Key: "c", Value: i % 53}, {Key: "d", Value: i % 1000},
			{Key: "s", Value: fmt.Sprintf("text %d of the collection", i)}, {Key: "t", Value: fmt.Sprintf("word%d word%d common", i%50, i%31)},
			{Key: "l", Value: bson.A{i % 3, i % 5, i % 7}}, {Key: "to", Value: bson.A{(i * 7) % 20_000, (i*13 + 1) % 20_000, (i + 1) % 20_000}},
			{Key: "g", Value: bson.D{{Key: "type", Value: "Point"}, {Key: "coordinates", Value: bson.A{float64(i%360) - 180, float64(i%170) - 85}}}},
			{Key: "at", Value: bson.DateTime(int64(i) * 86_400_000)}, {Key: "x", Value: math.Pow(1.01, float64(i%2000))}}
	}
	nulls, ints, docs, texts := make(bson.A, 400_000), make(bson.A, 400_000), make(bson.A, 150_000), make(bson.A, 100_000)
	for i := range nulls {
		ints[i] = i * 31 % 400_009
	}
	for i := range docs {
		docs[i] = bson.D{{Key: "b", Value: i % 1000}, {Key: "c", Value: nil}}
	}
	for i := range texts {
		texts[i] = fmt.Sprintf("w%d", i)
	}
	places := make(bson.A, 100_000)
	for i := range places {
		places[i] = bson.A{float64(i%3600)/10 - 180, float64(i%1700)/10 - 85}
	}
	wide := make(bson.D, 200_000)
	for i := range wide {
		wide[i] = bson.E{Key: fmt.Sprintf("f%d", i), Value: i}
	}
	odd := []any{}
	for i, x := range []any{5e-324, 1e-310, 2.2e-308, 1e308, math.Inf(1), 0.0, 1, int64(math.MaxInt64), int64(math.MinInt64), -5e-324, math.Inf(-1), math.NaN()} {
		odd = append(odd, bson.D{{Key: "_id", Value: i}, {Key: "x", Value: x}, {Key: "p", Value: i < 8}})
	}
	for i, text := range []string{"9.999999999999999999999999999999999E6144", "1E-6176", "1E+6111"} {
		x, _ := bson.ParseDecimal128(text)
		odd = append(odd, bson.D{{Key: "_id", Value: 100 + i}, {Key: "x", Value: x}, {Key: "p", Value: true}})
	}
	return map[string][]any{
		"small": small, "odd": odd,
		"nulls":  {bson.D{{Key: "_id", Value: 0}, {Key: "a", Value: nulls}}},
		"ints":   {bson.D{{Key: "_id", Value: 0}, {Key: "a", Value: ints}}, bson.D{{Key: "_id", Value: 1}, {Key: "a", Value: ints}}},
		"docs":   {bson.D{{Key: "_id", Value: 0}, {Key: "a", Value: docs}}},
		"texts":  {bson.D{{Key: "_id", Value: 0}, {Key: "a", Value: texts}}},
		"places": {bson.D{{Key: "_id", Value: 0}, {Key: "a", Value: places}}},
		"long":   {bson.D{{Key: "_id", Value: 0}, {Key: "s", Value: strings.Repeat("a", 15<<20) + "!"}}, bson.D{{Key: "_id", Value: 1}, {Key: "s", Value: strings.Repeat("a ", 4<<20)}}},
		"regex":  {bson.D{{Key: "_id", Value: 0}, {Key: "s", Value: strings.Repeat("a", 5000) + "!"}}},
		"wide":   {bson.D{{Key: "_id", Value: 0}, {Key: "w", Value: wide}}},
		"deep":   {bson.D{{Key: "_id", Value: 0}, {Key: "a", Value: branching(17)}}, bson.D{{Key: "_id", Value: 1}, {Key: "a", Value: nested(150, "a", false)}}},
	}
}

// branching returns a tree of nested documents for hostile queries: at each of depth levels an array of two
// documents, each of which holds such a tree.
func branching(depth int) any {
	if depth == 0 {
		return 1
	}
	return bson.A{bson.D{{Key: "a", Value: branching(depth - 1)}}, bson.D{{Key: "a", Value: branching(depth - 1)}}}
}

// hostileTexts returns long parts of hostile commands, by the placeholder, such as @windows, in whose place they
// are inserted.
func hostileTexts() map[string]string {
	list := func(n int, f func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = f(i)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	fields := func(n int, f func(i int) string) string {
		s := list(n, f)
		return "{" + s[1:len(s)-1] + "}"
	}
	repeated := func(n int, open, core, shut string) string {
		return strings.Repeat(open, n) + core + strings.Repeat(shut, n)
	}
	texts := map[string]string{
		"in100000": list(100_000, func(i int) string { return fmt.Sprint(i * 3) }),
		"in2000":   list(2000, func(i int) string { return fmt.Sprint(i) }),
		"strings":  list(100_000, func(i int) string { return fmt.Sprintf(`"x%d"`, i) }),
		"regexes":  list(2000, func(i int) string { return fmt.Sprintf(`{$regularExpression: {pattern: "(?=x)y%d", options: ""}}`, i) }),
		"ors":      list(20_000, func(i int) string { return fmt.Sprintf(`{a: %d, b: %d}`, i, i) }),
		"ands":     list(3_000, func(i int) string { return fmt.Sprintf(`{$or: [{a: %d}, {b: %d}]}`, i, i) }),
		"branches": list(20_000, func(i int) string { return fmt.Sprintf(`{case: {$eq: ["$a", %d]}, then: %d}`, -1-i, i) }),
		"unions":   list(900, func(int) string { return `{$unionWith: "small"}` }),
		"facets":   fields(90, func(i int) string { return fmt.Sprintf(`f%d: [{$sort: {s: 1}}, {$group: {_id: "$s"}}]`, i) }),
		"fields":   fields(50_000, func(i int) string { return fmt.Sprintf(`f%d: 1`, i) }),
		"paths":    fields(20_000, func(i int) string { return fmt.Sprintf(`"w.f%d.x": 1`, i*7) }),
		"bounds":   list(100_000, func(i int) string { return fmt.Sprint(i) }),
		"polygon": list(50_001, func(i int) string {
			i %= 50_000
			at := 2 * math.Pi * float64(i) / 50_000
			return fmt.Sprintf("[%v, %v]", 80*math.Cos(at), 80*math.Sin(at))
		}),
		"words":    `"` + strings.ReplaceAll(strings.Trim(list(20_000, func(i int) string { return fmt.Sprintf("word%d", i) }), "[]"), ",", " ") + `"`,
		"longtext": `"` + strings.Repeat("a", 1<<20) + `"`,
		"doubling": repeated(40, `{$let: {vars: {x: `, `"a"`, `}, in: {$concat: ["$$x", "$$x"]}}}`),
		"maps":     repeated(12, `{$map: {input: {$range: [0, 1000]}, in: `, `1`, `}}`),
		"lookups":  repeated(6, `[{$lookup: {from: "small", as: "x", pipeline: `, `[]`, `}}]`),
		"schema":   repeated(20, `{properties: {a: {items: `, `{type: "string"}`, `}}}`),
		"updates":  list(2000, func(i int) string { return fmt.Sprintf(`{q: {s: "none%d"}, u: {$set: {z: 1}}}`, i) }),
		"upserts":  list(5000, func(i int) string { return fmt.Sprintf(`{q: {s: {$regex: "(?=none)%d"}}, u: {$set: {z: 1}}}`, i) }),
		"deletes":  list(2000, func(i int) string { return fmt.Sprintf(`{q: {s: "none%d"}, limit: 0}`, i) }),
		"inserts":  list(20_000, func(i int) string { return fmt.Sprintf(`{x: [1, 2, %d], t: "one two three four five w%d"}`, i, i) }),
		"arrays":   list(300_000, func(i int) string { return fmt.Sprint(i) }),
		"recently": fmt.Sprintf(`{$timestamp: {t: %d, i: 1}}`, time.Now().Add(-2*time.Second).Unix()),
	}
	maps.Copy(texts, hostileTextsAgain(list, fields, repeated))
	return texts
}

var placeholder = regexp.MustCompile(`@\w+`)

// hostileCommand replaces the placeholders in the text of a command (extended JSON), parses it, and returns the
// command.
func hostileCommand(t *testing.T, text string, texts map[string]string) bson.Raw {
	t.Helper()
	full := placeholder.ReplaceAllStringFunc(text, func(name string) string {
		s, ok := texts[name[1:]]
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		return s
	})
	d := bsontest.Doc(t, full)
	return append(bson.Raw(nil), withDatabase(d)...)
}

// withDatabase adds the field $db with the database of hostile commands to a command that has none.
func withDatabase(d []byte) bson.Raw {
	var out bson.D
	if err := bson.Unmarshal(d, &out); err != nil {
		panic(err)
	}
	if _, err := bson.Raw(d).LookupErr("$db"); err != nil {
		out = append(out, bson.E{Key: "$db", Value: "hostile"})
	}
	raw, err := bson.Marshal(out)
	if err != nil {
		panic(err)
	}
	return raw
}
