package expr_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
)

// worst holds for each operator the expression with which it holds most memory, evaluated on worstDoc.
var worst = map[string]string{
	"$abs":                  `{$abs: "$n"}`,
	"$acos":                 `{$acos: "$n"}`,
	"$acosh":                `{$acosh: "$i"}`,
	"$add":                  `{$add: ["$n", "$n", "$i"]}`,
	"$allElementsTrue":      `{$allElementsTrue: "$a"}`,
	"$and":                  `{$and: ["$a", "$o"]}`,
	"$anyElementTrue":       `{$anyElementTrue: "$a"}`,
	"$arrayElemAt":          `{$arrayElemAt: ["$a", -1]}`,
	"$arrayToObject":        `{$arrayToObject: "$pairs"}`,
	"$asin":                 `{$asin: "$n"}`,
	"$asinh":                `{$asinh: "$n"}`,
	"$atan":                 `{$atan: "$n"}`,
	"$atan2":                `{$atan2: ["$n", "$i"]}`,
	"$atanh":                `{$atanh: "$n"}`,
	"$avg":                  `{$avg: "$a"}`,
	"$binarySize":           `{$binarySize: "$s"}`,
	"$bitAnd":               `{$bitAnd: ["$i", "$i"]}`,
	"$bitNot":               `{$bitNot: "$i"}`,
	"$bitOr":                `{$bitOr: ["$i", "$i"]}`,
	"$bitXor":               `{$bitXor: ["$i", "$i"]}`,
	"$bottom":               `{$bottom: {input: "$a", sortBy: 1}}`,
	"$bottomN":              `{$bottomN: {n: 1000000, input: "$a", sortBy: 1}}`,
	"$bsonSize":             `{$bsonSize: "$o"}`,
	"$ceil":                 `{$ceil: "$n"}`,
	"$cmp":                  `{$cmp: ["$a", "$a"]}`,
	"$concat":               `{$concat: ["$s", "$s"]}`,
	"$concatArrays":         `{$concatArrays: ["$a", "$a"]}`,
	"$cond":                 `{$cond: ["$n", {$concatArrays: ["$a", "$a"]}, 0]}`,
	"$const":                `{$concatArrays: ["$a", {$const: [1]}]}`,
	"$convert":              `{$convert: {input: "$bin", to: "string", format: "hex"}}`,
	"$cos":                  `{$cos: "$n"}`,
	"$cosh":                 `{$cosh: "$n"}`,
	"$createObjectId":       `{$createObjectId: {}}`,
	"$createUUID":           `{$createUUID: {}}`,
	"$currentDate":          `{$currentDate: {}}`,
	"$dateAdd":              `{$dateAdd: {startDate: "$t", unit: "day", amount: 1}}`,
	"$dateDiff":             `{$dateDiff: {startDate: "$t", endDate: "$t", unit: "day"}}`,
	"$dateFromParts":        `{$dateFromParts: {year: "$i"}}`,
	"$dateFromString":       `{$dateFromString: {dateString: "$s", onError: 0}}`,
	"$dateSubtract":         `{$dateSubtract: {startDate: "$t", unit: "day", amount: 1}}`,
	"$dateToParts":          `{$dateToParts: {date: "$t"}}`,
	"$dateToString":         `{$dateToString: {date: "$t", format: "$format"}}`,
	"$dateTrunc":            `{$dateTrunc: {date: "$t", unit: "day"}}`,
	"$dayOfMonth":           `{$dayOfMonth: "$t"}`,
	"$dayOfWeek":            `{$dayOfWeek: "$t"}`,
	"$dayOfYear":            `{$dayOfYear: "$t"}`,
	"$degreesToRadians":     `{$degreesToRadians: "$n"}`,
	"$deserializeEJSON":     `{$deserializeEJSON: {input: "$kv"}}`,
	"$divide":               `{$divide: ["$n", "$i"]}`,
	"$eq":                   `{$eq: ["$a", "$a"]}`,
	"$exp":                  `{$exp: "$n"}`,
	"$expr":                 `{$expr: {$concatArrays: ["$a", "$a"]}}`,
	"$filter":               `{$filter: {input: "$a", cond: true}}`,
	"$first":                `{$first: "$a"}`,
	"$firstN":               `{$firstN: {n: 1000000, input: "$a"}}`,
	"$floor":                `{$floor: "$n"}`,
	"$function":             `{$function: {body: "function(a) { return new Array(200000).fill(1) }", args: [], lang: "js"}}`,
	"$getField":             `{$getField: {field: "f1", input: "$o"}}`,
	"$gt":                   `{$gt: ["$a", "$a"]}`,
	"$gte":                  `{$gte: ["$a", "$a"]}`,
	"$hash":                 `{$hash: {input: "$s", algorithm: "sha256"}}`,
	"$hexHash":              `{$hexHash: {input: "$s", algorithm: "sha256"}}`,
	"$hour":                 `{$hour: "$t"}`,
	"$ifNull":               `{$ifNull: [null, {$concatArrays: ["$a", "$a"]}]}`,
	"$in":                   `{$in: [-1, "$a"]}`,
	"$indexOfArray":         `{$indexOfArray: ["$a", -1]}`,
	"$indexOfBytes":         `{$indexOfBytes: ["$s", "$s"]}`,
	"$indexOfCP":            `{$indexOfCP: ["$s", "$s"]}`,
	"$isArray":              `{$isArray: "$a"}`,
	"$isNumber":             `{$isNumber: "$a"}`,
	"$isoDayOfWeek":         `{$isoDayOfWeek: "$t"}`,
	"$isoWeek":              `{$isoWeek: "$t"}`,
	"$isoWeekYear":          `{$isoWeekYear: "$t"}`,
	"$last":                 `{$last: "$a"}`,
	"$lastN":                `{$lastN: {n: 1000000, input: "$a"}}`,
	"$let":                  `{$let: {vars: {x: {$concatArrays: ["$a", "$a"]}, y: {$concatArrays: ["$a", "$a"]}}, in: ["$$x", "$$y"]}}`,
	"$literal":              `{$concatArrays: ["$a", {$literal: [1]}]}`,
	"$ln":                   `{$ln: "$n"}`,
	"$log":                  `{$log: ["$n", "$i"]}`,
	"$log10":                `{$log10: "$n"}`,
	"$lt":                   `{$lt: ["$a", "$a"]}`,
	"$lte":                  `{$lte: ["$a", "$a"]}`,
	"$ltrim":                `{$ltrim: {input: "$s", chars: "x"}}`,
	"$map":                  `{$map: {input: "$a", in: {x: "$$this"}}}`,
	"$max":                  `{$max: "$a"}`,
	"$maxN":                 `{$maxN: {n: 1000000, input: "$a"}}`,
	"$median":               `{$median: {input: "$a", method: "approximate"}}`,
	"$mergeObjects":         `{$mergeObjects: ["$o", {x: 1}]}`,
	"$meta":                 `{$meta: "textScore"}`,
	"$millisecond":          `{$millisecond: "$t"}`,
	"$min":                  `{$min: "$a"}`,
	"$minN":                 `{$minN: {n: 1000000, input: "$a"}}`,
	"$minute":               `{$minute: "$t"}`,
	"$mod":                  `{$mod: ["$n", "$i"]}`,
	"$month":                `{$month: "$t"}`,
	"$multiply":             `{$multiply: ["$n", "$n", "$i"]}`,
	"$ne":                   `{$ne: ["$a", "$a"]}`,
	"$not":                  `{$not: "$a"}`,
	"$objectToArray":        `{$objectToArray: "$o"}`,
	"$or":                   `{$or: ["$a", "$o"]}`,
	"$percentile":           `{$percentile: {input: "$a", p: [0.5], method: "approximate"}}`,
	"$pow":                  `{$pow: ["$n", "$i"]}`,
	"$radiansToDegrees":     `{$radiansToDegrees: "$n"}`,
	"$rand":                 `{$rand: {}}`,
	"$range":                `{$range: ["$zero", 400000]}`,
	"$reduce":               `{$reduce: {input: [1, 2, 3], initialValue: "$a", in: {$concatArrays: ["$$value", "$a"]}}}`,
	"$regexFind":            `{$regexFind: {input: "$s", regex: "((((((((((((((((((((.*))))))))))))))))))))"}}`,
	"$regexFindAll":         `{$regexFindAll: {input: "$s", regex: "y"}}`,
	"$regexMatch":           `{$regexMatch: {input: "$s", regex: "x"}}`,
	"$replaceAll":           `{$replaceAll: {input: "$s", find: "y", replacement: "zzzzzz"}}`,
	"$replaceOne":           `{$replaceOne: {input: "$s", find: "y", replacement: "$s"}}`,
	"$reverseArray":         `{$reverseArray: "$a"}`,
	"$round":                `{$round: ["$n", 1]}`,
	"$rtrim":                `{$rtrim: {input: "$s", chars: "x"}}`,
	"$second":               `{$second: "$t"}`,
	"$serializeEJSON":       `{$serializeEJSON: {input: "$a"}}`,
	"$setDifference":        `{$setDifference: ["$a", "$a"]}`,
	"$setEquals":            `{$setEquals: ["$a", "$a"]}`,
	"$setField":             `{$setField: {field: "x", input: "$o", value: "$a"}}`,
	"$setIntersection":      `{$setIntersection: ["$a", "$a"]}`,
	"$setIsSubset":          `{$setIsSubset: ["$a", "$a"]}`,
	"$setUnion":             `{$setUnion: ["$a", "$a"]}`,
	"$sigmoid":              `{$sigmoid: "$n"}`,
	"$similarityCosine":     `{$similarityCosine: ["$bits", "$bits"]}`,
	"$similarityDotProduct": `{$similarityDotProduct: ["$bits", "$bits"]}`,
	"$similarityEuclidean":  `{$similarityEuclidean: ["$bits", "$bits"]}`,
	"$sin":                  `{$sin: "$n"}`,
	"$sinh":                 `{$sinh: "$n"}`,
	"$size":                 `{$size: "$a"}`,
	"$slice":                `{$slice: ["$a", 1, 1000000]}`,
	"$sortArray":            `{$sortArray: {input: "$a", sortBy: -1}}`,
	"$split":                `{$split: ["$s", "y"]}`,
	"$sqrt":                 `{$sqrt: "$n"}`,
	"$stdDevPop":            `{$stdDevPop: "$a"}`,
	"$stdDevSamp":           `{$stdDevSamp: "$a"}`,
	"$strLenBytes":          `{$strLenBytes: "$s"}`,
	"$strLenCP":             `{$strLenCP: "$s"}`,
	"$strcasecmp":           `{$strcasecmp: ["$s", "$s"]}`,
	"$substr":               `{$substr: ["$s", 0, 100000000]}`,
	"$substrBytes":          `{$substrBytes: ["$s", 0, 100000000]}`,
	"$substrCP":             `{$substrCP: ["$s", 0, 100000000]}`,
	"$subtract":             `{$subtract: ["$n", "$i"]}`,
	"$subtype":              `{$subtype: "$bits"}`,
	"$sum":                  `{$sum: "$a"}`,
	"$switch":               `{$switch: {branches: [{case: "$n", then: {$concatArrays: ["$a", "$a"]}}]}}`,
	"$tan":                  `{$tan: "$n"}`,
	"$tanh":                 `{$tanh: "$n"}`,
	"$toArray":              `{$toArray: "$bits"}`,
	"$toBool":               `{$toBool: "$n"}`,
	"$toDate":               `{$toDate: "$t"}`,
	"$toDecimal":            `{$toDecimal: "$n"}`,
	"$toDouble":             `{$toDouble: "$n"}`,
	"$toHashedIndexKey":     `{$toHashedIndexKey: "$s"}`,
	"$toInt":                `{$toInt: "$n"}`,
	"$toLong":               `{$toLong: "$n"}`,
	"$toLower":              `{$toLower: "$s"}`,
	"$toObject":             `{$toObject: "$json"}`,
	"$toObjectId":           `{$toObjectId: "$id"}`,
	"$toString":             `{$toString: "$quoted"}`,
	"$toUUID":               `{$toUUID: "00112233-4455-6677-8899-aabbccddeeff"}`,
	"$toUpper":              `{$toUpper: "$s"}`,
	"$top":                  `{$top: {input: "$a", sortBy: 1}}`,
	"$topN":                 `{$topN: {n: 1000000, input: "$a", sortBy: 1}}`,
	"$trim":                 `{$trim: {input: "$s", chars: "x"}}`,
	"$trunc":                `{$trunc: ["$n", 1]}`,
	"$tsIncrement":          `{$tsIncrement: "$ts"}`,
	"$tsSecond":             `{$tsSecond: "$ts"}`,
	"$type":                 `{$type: "$a"}`,
	"$unsetField":           `{$unsetField: {field: "f1", input: "$o"}}`,
	"$week":                 `{$week: "$t"}`,
	"$year":                 `{$year: "$t"}`,
	"$zip":                  `{$zip: {inputs: ["$a", "$a"]}}`,
}

// worstForms are expressions without an operator.
var worstForms = map[string]string{
	"[array]":     `["$a", "$a"]`,
	"{document}":  `{x: "$a", y: "$a"}`,
	"$path":       `"$kv.v"`,
	"$path twice": `"$kv.d.x"`,
}

// worstDoc returns a document with long values of every kind that operators split or combine.
func worstDoc() bson.Raw {
	const n = 100_000
	b := bson.NewBuilder(nil)
	b.Double("n", 0.5)
	b.Int32("i", 7)
	b.Int32("zero", 0)
	b.DateTime("t", 1704164645678)
	b.Timestamp("ts", 7, 7)
	b.ObjectID("id", [12]byte{1})
	b.String("s", strings.Repeat("y", 1<<20))
	b.String("format", strings.Repeat("%Y", 1<<19))
	b.Binary("bin", 0, make([]byte, 1<<20))
	b.Binary("bits", 9, append([]byte{0x10, 0}, make([]byte, 50_000)...))
	b.BeginArray("a")
	for i := range n {
		b.Int32("", int32(i))
	}
	b.End()
	b.BeginArray("kv")
	for i := range n {
		b.BeginDoc("")
		b.String("k", fmt.Sprint("f", i))
		b.Int32("v", int32(i))
		b.BeginDoc("d")
		b.Int32("x", 1)
		b.End()
		b.End()
	}
	b.End()
	b.BeginArray("pairs")
	for i := range n {
		b.BeginDoc("")
		b.String("k", fmt.Sprint("f", i))
		b.Int32("v", int32(i))
		b.End()
	}
	b.End()
	b.BeginDoc("o")
	for i := range n {
		b.Int32(fmt.Sprint("f", i), int32(i))
	}
	b.End()
	b.BeginArray("quoted")
	for range 16 {
		b.String("", strings.Repeat("\x01", 1<<16))
	}
	b.End()
	b.String("json", "{"+strings.TrimSuffix(strings.Repeat(`"x":[],`, n), ",")+"}")
	return b.Doc()
}

// TestMemoryOfOperators evaluates the expressions of worst and worstForms, each as twelve variables of one $let, which
// are live at the same time: the process's memory stays within the limit of all commands plus a constant. An evaluation
// may be refused because of that limit. With -v, it prints the memory of each operator.
func TestMemoryOfOperators(t *testing.T) {
	const work, constant, siblings = 16 << 20, 32 << 20, 12
	for _, op := range expr.Operators {
		if worst[op.Name] == "" {
			t.Errorf("%s: worst has no row for it", op.Name)
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	doc := worstDoc()
	for _, rows := range []map[string]string{worst, worstForms} {
		for name, text := range rows {
			vars := ""
			for i := range siblings {
				vars += fmt.Sprintf("v%d: %s, ", i, text)
			}
			v, err := ejson.ParseValue(`{$let: {vars: {` + vars + `}, in: ["$n", {$isArray: "$$v0"}]}}`)
			if err != nil {
				t.Fatal(name, err)
			}
			all := ratelimit.NewMemory(work)
			env := newEnv(t.Context())
			env.Release = release.V9_0
			env.Memory.Reset(mql.StageBytesMax, all)
			var s expr.Scratch
			s.Meta[expr.MetaTextScore] = bson.EmptyArray
			held := peakOf(func() {
				e, failed := expr.Parse(env, v)
				if err = failed; err == nil {
					_, err = e.Eval(env, doc, &s)
				}
			})
			if err != nil && (mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit || !strings.Contains(err.Error(), "--work-memory")) {
				t.Errorf("%s: %v", name, err)
			}
			said := "made"
			if err != nil {
				said = "refused"
			}
			t.Logf("%-20s %5.1f MB held, %5.1f MB counted, %s", name, float64(held)/(1<<20), float64(all.Stats().Peak)/(1<<20), said)
			if held > work+constant {
				t.Errorf("%s: %d MB were held at once, with %d MB for all commands", name, held>>20, work>>20)
			}
			s.Close()
			env.Memory.Release()
			if left := all.Stats().Used; left != 0 {
				t.Errorf("%s: %d bytes are counted when all is over", name, left)
			}
		}
	}
}

// peakOf returns the maximal growth of the heap while f runs.
func peakOf(f func()) int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	runtime.GC()
	metrics.Read(sample)
	before := int64(sample[0].Value.Uint64())
	var peak atomic.Int64
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			metrics.Read(sample)
			peak.Store(max(peak.Load(), int64(sample[0].Value.Uint64())-before))
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	f()
	close(done)
	<-over
	return peak.Load()
}
