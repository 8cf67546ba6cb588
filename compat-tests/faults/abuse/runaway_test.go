package abuse

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// runaway is a command that costs much more than its cap.
type runaway struct {
	cmd string // extended JSON
	// explicit means that no default applies, only the argument maxRequestUnits.
	explicit bool
}

// runawayDocs is the number of documents of the collections c and ts.
const runawayDocs = 3000

// runaways returns commands that cost as much as a client can make them cost.
func runaways() (list []runaway) {
	var docs, numbers []string
	for i := range runawayDocs {
		docs = append(docs, runawayDoc(i))
		numbers = append(numbers, fmt.Sprint(i))
	}
	all, ints := strings.Join(docs, ", "), strings.Join(numbers, ", ")
	many := strings.TrimSuffix(strings.Repeat(`{q: {b: 3}, u: {$inc: {x: 1}}, multi: true}, `, 20), ", ")
	var inserts []string
	for _, d := range docs {
		inserts = append(inserts, `{insert: 0, document: `+d+`}`)
	}
	for _, cmd := range []string{
		`{find: "c", filter: {nothing: 1}}`,
		`{find: "c", filter: {nothing: 1}, sort: {b: 1}}`,
		`{find: "c", sort: {b: 1}, batchSize: 3000}`,
		`{find: "c", batchSize: 3000}`,
		`{find: "c"}`,
		`{find: "v", filter: {nothing: 1}}`,
		`{find: "c", filter: {a: {$gte: 0}}, hint: "a", batchSize: 50}`,
		`{find: "c", filter: {pad: /y$/}}`,
		`{find: "c", filter: {a: {$in: [` + ints + `]}}, batchSize: 3000}`,
		`{find: "c", filter: {$expr: {$eq: [{$add: ["$a", "$b"]}, -1]}}}`,
		`{find: "c", filter: {$or: [{a: {$gte: 0}}, {b: 1}]}, batchSize: 3000}`,
		`{find: "c", filter: {$text: {$search: "word"}}, batchSize: 3000}`,
		`{find: "c", filter: {at: {$near: [0, 0]}}, batchSize: 3000}`,
		`{find: "c", skip: 2990, sort: {b: 1}}`,
		`{find: "big", filter: @point}`,
		`{find: "big", filter: {s: /x$/}}`,
		`{count: "c", query: {nothing: 1}}`,
		`{distinct: "c", key: "pad"}`,
		`{explain: {find: "c", filter: {nothing: 1}}, verbosity: "executionStats"}`,
		`{mapReduce: "c", map: "function() { emit(1, this.a) }", reduce: "function(k, v) { return 1 }", out: {inline: 1}}`,
		`{aggregate: "c", pipeline: [{$match: {nothing: 1}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$group: {_id: "$b", n: {$sum: 1}, pads: {$addToSet: "$pad"}}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$sort: {pad: 1, b: 1}}, {$limit: 5}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$unwind: "$list"}, {$match: {nothing: 1}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$lookup: {from: "c", localField: "a", foreignField: "a", as: "j"}}, {$match: {"j.b": 9}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$lookup: {from: "c", localField: "b", foreignField: "b", as: "j"}}, {$match: {"j.b": 9}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$lookup: {from: "c", let: {x: "$a"}, pipeline: [{$match: {$expr: {$gt: ["$a", "$$x"]}}}], as: "j"}}, {$match: {"j.b": 9}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$unionWith: "c"}, {$unionWith: "c"}, {$match: {nothing: 1}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$graphLookup: {from: "c", startWith: "$a", connectFromField: "a", connectToField: "a", as: "g"}}, {$match: {"g.b": 9}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$facet: {a: [{$match: {nothing: 1}}], b: [{$sort: {b: 1}}, {$limit: 1}]}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$setWindowFields: {sortBy: {b: 1}, output: {s: {$sum: "$a", window: {documents: [-2, 2]}}}}}, {$match: {s: -1}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$bucketAuto: {groupBy: "$a", buckets: 3}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$sample: {size: 2900}}, {$match: {nothing: 1}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$out: "o"}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$merge: "m"}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$match: {nothing: 1}}, {$merge: "m"}], cursor: {}}`,
		`{aggregate: "ts", pipeline: [{$match: {nothing: 1}}], cursor: {}}`,
		`{update: "c", updates: [{q: {}, u: {$inc: {n: 1}}, multi: true}]}`,
		`{update: "c", updates: [{q: {nothing: 1}, u: {$inc: {n: 1}}, multi: true}]}`,
		`{update: "c", updates: [{q: {nothing: 1}, u: {$inc: {n: 1}}}]}`,
		`{update: "c", updates: [` + many + `]}`,
		`{update: "c", updates: [` + many + `], ordered: false}`,
		`{update: "big", updates: [{q: @point, u: {$set: {k: 1}}}]}`,
		`{update: "big", updates: [{q: @point, u: {$set: {x: 1}}}]}`,
		`{delete: "c", deletes: [{q: {nothing: 1}, limit: 0}]}`,
		`{delete: "c", deletes: [{q: {b: {$lt: 7}, nothing: {$exists: false}}, limit: 0}]}`,
		`{delete: "big", deletes: [{q: @point, limit: 1}]}`,
		`{findAndModify: "c", query: {nothing: 1}, update: {$set: {z: 1}}}`,
		`{findAndModify: "c", query: {nothing: 1}, sort: {b: 1}, remove: true}`,
		`{insert: "w", documents: [` + all + `]}`,
		`{insert: "w", documents: [` + all + `], ordered: false}`,
		`{insert: "w", documents: [{_id: 1, k: 1, n: [` + ints + `]}]}`,
		`{insert: "w", documents: [{_id: 2, k: 1, pad: "` + strings.Repeat("y", 3<<20) + `"}]}`,
		`{bulkWrite: 1, $db: "admin", nsInfo: [{ns: "abuse.c"}], ops: [{update: 0, filter: {}, updateMods: {$inc: {n: 1}}, multi: true}]}`,
		`{bulkWrite: 1, $db: "admin", ordered: false, nsInfo: [{ns: "abuse.w"}], ops: [` + strings.Join(inserts, ", ") + `]}`,
	} {
		list = append(list, runaway{cmd: cmd})
	}
	for _, cmd := range []string{
		`{createIndexes: "c", indexes: [{key: {b: 1, pad: 1}, name: "x"}]}`,
		`{createIndexes: "c", indexes: [{key: {"$**": 1}, name: "x"}]}`,
		`{createIndexes: "c", indexes: [{key: {list: 1}, name: "x"}, {key: {pad: "hashed"}, name: "y"}]}`,
	} {
		list = append(list, runaway{cmd: cmd, explicit: true})
	}
	return list
}

func runawayDoc(i int) string {
	return fmt.Sprintf(`{_id: %d, k: %d, a: %d, b: %d, t: "a word", at: [%d, %d], list: [%d, 1, 2, 3], pad: "%s"}`, i, i, i, i%7, i%90, i%80, i, strings.Repeat("x", 600))
}

// TestRunaways checks that each of fifty and more commands that cost as much as a client can make them cost is stopped within
// 5 % or 100 RU of its cap, by the argument and by the default of the server, by both price lists, on one partition and
// several, also in a getMore. The error has the amount that was charged.
func TestRunaways(t *testing.T) {
	list := runaways()
	if len(list) < 50 {
		t.Fatalf("%d commands", len(list))
	}
	for _, prices := range []string{"normative", "mongo-2023"} {
		s := harness.Start(t, harness.Options{Args: []string{"--prices", prices}})
		c := s.Dial(t)
		for _, sharded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s sharded=%v", prices, sharded), func(t *testing.T) {
				z := &zoo{t, c}
				z.fill(sharded)
				point := `{_id: 1}` // a read by key
				if sharded {
					point = `{_id: 1, k: 1}`
				}
				for _, r := range list {
					r.cmd = strings.ReplaceAll(r.cmd, "@point", point)
					for _, limit := range []float64{3, 40} {
						z.stopped(r, limit, "command")
						if !r.explicit {
							z.stopped(r, limit, "server")
						}
					}
				}
			})
		}
	}
}

// zoo is a server on which runaways are stopped, and the connection to it.
type zoo struct {
	*testing.T
	c *harness.Conn
}

// run sends a command.
func (z *zoo) run(cmd string) bson.Raw {
	z.Helper()
	r, err := z.c.Command("abuse", bson.Raw(bsontest.Doc(z, cmd)))
	bsontest.Must(z, err)
	return r
}

// ok sends a command that must succeed.
func (z *zoo) ok(cmd string) bson.Raw {
	z.Helper()
	r := z.run(cmd)
	if _, err := r.LookupErr("errmsg"); err == nil {
		z.Fatalf("%.200s: %v", cmd, r)
	}
	if _, err := r.LookupErr("writeErrors"); err == nil {
		z.Fatalf("%.200s: %v", cmd, r)
	}
	return r
}

func (z *zoo) fill(sharded bool) {
	z.Helper()
	z.ok(`{dropDatabase: 1}`)
	if sharded {
		for _, coll := range []string{"c", "w", "big"} {
			z.ok(`{shardCollection: "abuse.` + coll + `", key: {k: "hashed"}, numInitialChunks: 4, $db: "admin"}`)
		}
	}
	z.ok(`{create: "v", viewOn: "c", pipeline: [{$set: {x: 1}}]}`)
	z.ok(`{create: "ts", timeseries: {timeField: "when", metaField: "meta"}}`)
	z.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}, {key: {t: "text"}, name: "t"}, {key: {at: "2d"}, name: "at"}]}`)
	z.ok(`{createIndexes: "w", indexes: [{key: {n: 1}, name: "n"}]}`)
	var docs, times []string
	for i := range runawayDocs {
		docs = append(docs, runawayDoc(i))
		times = append(times, fmt.Sprintf(`{when: {$date: {$numberLong: "%d"}}, meta: %d, pad: "%s"}`, 1_700_000_000_000+i, i, strings.Repeat("x", 100)))
	}
	z.ok(`{insert: "c", documents: [` + strings.Join(docs, ", ") + `]}`)
	z.ok(`{insert: "ts", documents: [` + strings.Join(times, ", ") + `]}`)
	z.ok(`{insert: "big", documents: [{_id: 1, k: 1, s: "` + strings.Repeat("x", 15<<20) + `"}]}`)
}

// number returns a number in a reply by its path; NaN if there is none.
func number(r bson.Raw, path ...string) float64 {
	v := r.Lookup(path...)
	if n, ok := v.AsInt64OK(); ok && v.Type != bson.TypeDouble {
		return float64(n)
	}
	if f, ok := v.DoubleOK(); ok {
		return f
	}
	return math.NaN()
}

// stopped runs a command, and its cursor to the end, with a cap: of the argument maxRequestUnits ("command"), or of the cluster
// parameter defaultMaxRequestUnits ("server"). It must be stopped there.
func (z *zoo) stopped(r runaway, limit float64, of string) {
	z.Helper()
	z.ok(`{delete: "w", deletes: [{q: {}, limit: 0}]}`) // what the command before has inserted
	cmd := r.cmd
	if of == "command" {
		cmd = strings.TrimSuffix(cmd, "}") + fmt.Sprintf(", maxRequestUnits: %v}", limit)
	} else {
		z.ok(fmt.Sprintf(`{setClusterParameter: {defaultMaxRequestUnits: {commands: %v}}, $db: "admin"}`, limit))
		defer z.ok(`{setClusterParameter: {defaultMaxRequestUnits: {}}, $db: "admin"}`)
	}
	spent := 0.0
	charged := func() { spent += number(z.ok(`{getLastRequestStatistics: 1}`), "RequestCharge") }
	reply := z.run(cmd)
	charged()
	for number(reply, "cursor", "id") > 0 {
		_, ns, _ := strings.Cut(reply.Lookup("cursor", "ns").StringValue(), ".")
		reply = z.run(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: %q}`, reply.Lookup("cursor", "id").Int64(), ns))
		charged()
	}
	short := cmd[:min(len(cmd), 150)]
	if number(reply, "code") != 8253 {
		z.Errorf("%s: code %v instead of 8253, at %v of %v RU of the %s: %.300s", short, number(reply, "code"), spent, limit, of, reply)
		return
	}
	used := number(reply, "errInfo", "runaway", "used")
	if !strings.HasPrefix(cmd, "{createIndexes") && math.Abs(used-spent) > 0.011 { // an index build is charged to the collection
		z.Errorf("%s: charged %v, and the error has %v", short, spent, used)
	}
	if used > limit+max(limit/20, 100) {
		z.Errorf("%s: stopped at %v RU, which may cost %v", short, used, limit)
	}
	if number(reply, "errInfo", "runaway", "limit") != limit || reply.Lookup("errInfo", "runaway", "limitOf").StringValue() != of {
		z.Errorf("%s: not stopped at %v RU of the %s: %.300s", short, limit, of, reply)
	}
	if _, err := reply.LookupErr("errorLabels"); err == nil {
		z.Errorf("%s: has labels: %.300s", short, reply)
	}
}
