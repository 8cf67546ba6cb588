package disk

import (
	"archive/zip"
	"context"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// scenarios are the workloads of the fault programme.
var scenarios = []scenario{
	{name: "insert", lanes: insertLanes},
	{name: "transaction", base: filled("shop.orders", "shop.items"), lanes: transactionLanes},
	{name: "index", base: filled("shop.orders"), lanes: indexLanes},
	{name: "convert", base: filled("shop.orders", "shop.items"), lanes: convertLanes},
	{name: "split", base: ranged, lanes: splitLanes},
	{name: "merge", base: parted, lanes: mergeLanes},
	{name: "reshard", base: filled("shop.orders"), lanes: reshardLanes},
	{name: "drop", base: filled("shop.orders", "shop.items", "shop.other", "past.a", "past.b"), lanes: dropLanes},
	{name: "ttl", base: aging, lanes: ttlLanes},
	{name: "checkpoint", base: filled("shop.orders"), lanes: checkpointLanes},
	{name: "users", base: filled("shop.orders"), lanes: userLanes},
	{name: "trim", base: filled("shop.orders"), flags: []string{"--log-size=1MB", "--log-retention=1s"}, lanes: trimLanes},
	{name: "upgrade", unpack: unpack, base: func(*client) error { return nil }, lanes: upgradeLanes},
}

// baseDocs is the number of documents that each collection has before a scenario begins.
const baseDocs = 40

// filled returns a function that creates collections with documents 0 to baseDocs-1 and an index.
func filled(list ...string) func(c *client) error {
	return func(c *client) error {
		rng := rand.New(rand.NewPCG(3, 3))
		for _, ns := range list {
			db, coll := namespace(ns)
			_, err := c.run(db, bson.D{{Key: "createIndexes", Value: coll}, {Key: "indexes", Value: bson.A{
				bson.D{{Key: "key", Value: bson.D{{Key: "v", Value: 1}}}, {Key: "name", Value: "v"}}}}})
			if err != nil {
				return err
			}
			var docs []bson.D
			for id := range baseDocs {
				docs = append(docs, document(rng, id, id, 150))
			}
			if err := insert(ns, docs...).do(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// writes returns n random steps of one client in a collection: inserts, replacements, deletions and reads of
// documents with _ids from from to below from+2*n, which no other client may use. size is the length of their padding.
func writes(rng *rand.Rand, ns string, from, n, size int) (out []*step) {
	var there []bson.D
	for i := range n {
		switch k := rng.IntN(10); {
		case k < 5 || len(there) < 2:
			doc := document(rng, from+i, i, size)
			there = append(there, doc)
			out = append(out, insert(ns, doc))
		case k < 6:
			a, b := document(rng, from+i, i, size), document(rng, from+i+n, i, size)
			there = append(there, a, b)
			out = append(out, insert(ns, a, b))
		case k < 8:
			at := rng.IntN(len(there))
			there[at] = document(rng, int(there[at][0].Value.(int32)), i+100, size)
			out = append(out, replace(ns, there[at]))
		case k < 9:
			at := rng.IntN(len(there))
			out = append(out, find(ns, there[at]))
		default:
			at := rng.IntN(len(there))
			out = append(out, remove(ns, int(there[at][0].Value.(int32))))
			there = append(there[:at:at], there[at+1:]...)
		}
	}
	return out
}

// creating adds the creation of the collection to the changes of the first of the steps, which creates it
// implicitly.
func creating(ns string, steps []*step) []*step {
	steps[0].changes = append(steps[0].changes, made(ns)...)
	return steps
}

func insertLanes(rng *rand.Rand) [][]*step {
	return [][]*step{creating("shop.orders", writes(rng, "shop.orders", 1000, 22, 150)), creating("shop.items", writes(rng, "shop.items", 2000, 12, 150))}
}

func transactionLanes(rng *rand.Rand) [][]*step {
	var steps []*step
	for i := range 10 {
		a, b := document(rng, 100+i, i, 150), document(rng, i, i+500, 150)
		steps = append(steps, transaction(session(1), i+1, i%4 != 3, []namedCommand{
			{"shop", bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{a}}}},
			{"shop", bson.D{{Key: "update", Value: "items"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: b[:1]}, {Key: "u", Value: b}}}}}},
			{"shop", bson.D{{Key: "delete", Value: "items"}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: int32(20 + i)}}}, {Key: "limit", Value: 1}}}}}},
		}, held("shop.orders", a), held("shop.items", b), deleted("shop.items", 20+i)))
	}
	return [][]*step{steps, writes(rng, "shop.orders", 1000, 10, 150)}
}

// index returns a step that builds an index.
func index(ns, name string, key bson.D, options ...bson.E) *step {
	db, coll := namespace(ns)
	text, _ := bson.Marshal(key)
	spec, _ := bson.Marshal(bson.D(options))
	return command("createIndexes "+name, db, bson.D{{Key: "createIndexes", Value: coll}, {Key: "indexes", Value: bson.A{
		append(bson.D{{Key: "key", Value: key}, {Key: "name", Value: name}}, options...)}}}, true, change{"index " + ns + " " + name, bson.Raw(text).String() + flagsOf(spec)})
}

func indexLanes(rng *rand.Rand) [][]*step {
	dropped := func(name string) *step {
		return command("dropIndexes "+name, "shop", bson.D{{Key: "dropIndexes", Value: "orders"}, {Key: "index", Value: name}}, true, change{"index shop.orders " + name, ""})
	}
	return [][]*step{{
		index("shop.orders", "k", bson.D{{Key: "k", Value: int32(1)}, {Key: "v", Value: int32(-1)}}),
		index("shop.orders", "pad", bson.D{{Key: "pad", Value: int32(1)}}, bson.E{Key: "unique", Value: true}),
		dropped("v"),
		index("shop.orders", "h", bson.D{{Key: "k", Value: "hashed"}}),
		dropped("k"),
		index("shop.orders", "v", bson.D{{Key: "v", Value: int32(1)}}, bson.E{Key: "partialFilterExpression", Value: bson.D{{Key: "k", Value: bson.D{{Key: "$gt", Value: 3}}}}}),
	}, writes(rng, "shop.orders", 1000, 12, 150)}
}

// convertLanes returns the steps of two clients: one changes indexes and other definitions together, by collMod
// and UpdateCollection; the other writes documents.
func convertLanes(rng *rand.Rand) [][]*step {
	key := func(d bson.D) string { text, _ := bson.Marshal(d); return bson.Raw(text).String() }
	v, back, k := bson.D{{Key: "v", Value: int32(1)}}, bson.D{{Key: "v", Value: int32(-1)}}, bson.D{{Key: "k", Value: int32(1)}}
	validator := bson.D{{Key: "v", Value: bson.D{{Key: "$gte", Value: int32(0)}}}}
	id := bson.D{{Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "name", Value: "_id_"}}
	return [][]*step{{
		command("prepareUnique", "shop", bson.D{{Key: "collMod", Value: "orders"}, {Key: "index", Value: bson.D{{Key: "name", Value: "v"}, {Key: "prepareUnique", Value: true}}}}, true,
			change{"index shop.orders v", key(v) + " prepareUnique"}),
		command("unique", "shop", bson.D{{Key: "collMod", Value: "orders"}, {Key: "index", Value: bson.D{{Key: "name", Value: "v"}, {Key: "unique", Value: true}, {Key: "hidden", Value: true}}},
			{Key: "validator", Value: validator}}, true,
			change{"index shop.orders v", key(v) + " unique hidden"}, change{"validator shop.orders", key(validator)}),
		command("UpdateCollection", "shop", bson.D{{Key: "customAction", Value: "UpdateCollection"}, {Key: "collection", Value: "orders"}, {Key: "indexes", Value: bson.A{id,
			bson.D{{Key: "key", Value: back}, {Key: "name", Value: "v"}, {Key: "unique", Value: true}}, bson.D{{Key: "key", Value: k}, {Key: "name", Value: "k"}}}}}, true,
			change{"index shop.orders v", key(back) + " unique"}, change{"index shop.orders k", key(k)}),
	}, writes(rng, "shop.items", 1000, 12, 150)}
}

// ranged creates the collection shop.orders, sharded by ranges of _id, with its documents.
func ranged(c *client) error {
	if _, err := c.run("admin", bson.D{{Key: "shardCollection", Value: "shop.orders"}, {Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}}); err != nil {
		return err
	}
	return filled("shop.orders")(c)
}

// splitAt returns a step that splits a partition of shop.orders before an _id.
func splitAt(id int) *step {
	return command("split", "admin", bson.D{{Key: "split", Value: "shop.orders"}, {Key: "middle", Value: bson.D{{Key: "_id", Value: int32(id)}}}}, true)
}

// parted creates a collection of four partitions.
func parted(c *client) error {
	if err := ranged(c); err != nil {
		return err
	}
	for _, id := range []int{10, 20, 30} {
		if err := splitAt(id).do(c); err != nil {
			return err
		}
	}
	return nil
}

func splitLanes(rng *rand.Rand) [][]*step {
	return [][]*step{{splitAt(20), splitAt(10), splitAt(30), splitAt(15)}, writes(rng, "shop.orders", 1000, 12, 150)}
}

func mergeLanes(rng *rand.Rand) [][]*step {
	merge := func(from, to any) *step {
		return command("mergeChunks", "admin", bson.D{{Key: "mergeChunks", Value: "shop.orders"}, {Key: "bounds", Value: bson.A{bson.D{{Key: "_id", Value: from}}, bson.D{{Key: "_id", Value: to}}}}}, true)
	}
	return [][]*step{{merge(int32(10), int32(30)), merge(bson.MinKey{}, int32(30)), merge(bson.MinKey{}, bson.MaxKey{})}, writes(rng, "shop.orders", 1000, 12, 150)}
}

func reshardLanes(rng *rand.Rand) [][]*step {
	rekey := func(cmd string, key bson.D) *step {
		text, _ := bson.Marshal(key)
		return command(cmd, "admin", bson.D{{Key: cmd, Value: "shop.orders"}, {Key: "key", Value: key}}, true, change{"key shop.orders", bson.Raw(text).String()})
	}
	return [][]*step{{
		rekey("shardCollection", bson.D{{Key: "_id", Value: int32(1)}}),
		rekey("reshardCollection", bson.D{{Key: "_id", Value: "hashed"}}),
	}, writes(rng, "shop.orders", 1000, 6, 150)}
}

// dropped returns the changes of dropping a collection.
func dropped(ns string) []change {
	out := []change{{"collection " + ns, ""}, {"index " + ns + " _id_", ""}, {"index " + ns + " v", ""}}
	for id := range baseDocs {
		out = append(out, deleted(ns, id))
	}
	return out
}

func dropLanes(rng *rand.Rand) [][]*step {
	v := change{"index shop.renamed v", `{"v": {"$numberInt":"1"}}`}
	renamed := append(append(dropped("shop.other"), made("shop.renamed")...), v)
	again := rand.New(rand.NewPCG(3, 3)) // repeats the random numbers by which filled made the documents of its third collection
	for range 2 * baseDocs {
		document(again, 0, 0, 150)
	}
	for id := range baseDocs {
		renamed = append(renamed, held("shop.renamed", document(again, id, id, 150)))
	}
	return [][]*step{{
		command("drop", "shop", bson.D{{Key: "drop", Value: "orders"}}, true, dropped("shop.orders")...),
		command("dropDatabase", "past", bson.D{{Key: "dropDatabase", Value: 1}}, false, append(dropped("past.a"), dropped("past.b")...)...),
		command("renameCollection", "admin", bson.D{{Key: "renameCollection", Value: "shop.other"}, {Key: "to", Value: "shop.renamed"}}, true, renamed...),
		creating("shop.orders", []*step{insert("shop.orders", document(rng, 1, 1, 150))})[0],
	}, writes(rng, "shop.items", 1000, 12, 150)}
}

// aging inserts documents that have expired, and others.
func aging(c *client) error {
	if _, err := c.run("admin", bson.D{{Key: "setParameter", Value: 1}, {Key: "ttlMonitorEnabled", Value: false}}); err != nil {
		return err
	}
	if err := filled("shop.orders")(c); err != nil {
		return err
	}
	var docs []bson.D
	for id := range 30 {
		at := bson.DateTime(1_000_000)
		if id%3 == 0 {
			at = bson.DateTime(1 << 45)
		}
		docs = append(docs, bson.D{{Key: "_id", Value: int32(id)}, {Key: "at", Value: at}})
	}
	if err := insert("shop.aging", docs...).do(c); err != nil {
		return err
	}
	return index("shop.aging", "at", bson.D{{Key: "at", Value: int32(1)}}, bson.E{Key: "expireAfterSeconds", Value: 1}).do(c)
}

func ttlLanes(rng *rand.Rand) [][]*step {
	pass := func(ids ...int) *step {
		s := &step{name: "expire", do: func(c *client) error {
			if _, err := c.daemon.Jobs().Expire(context.Background()); err != nil {
				return err
			}
			return c.store.Sync(context.Background()) // a sync makes the step durable: the server does not sync after deleting expired documents
		}}
		for _, id := range ids {
			s.changes = append(s.changes, deleted("shop.aging", id))
		}
		return s
	}
	var ids []int
	for id := range 30 {
		if id%3 != 0 {
			ids = append(ids, id)
		}
	}
	late := bson.D{{Key: "_id", Value: int32(100)}, {Key: "at", Value: bson.DateTime(5)}}
	return [][]*step{{pass(ids...), insert("shop.aging", late), pass(100), pass()}, writes(rng, "shop.orders", 1000, 12, 150)}
}

// serverStep returns a step that runs do inside the server, without a command.
func serverStep(name string, do func(c *client) error) *step { return &step{name: name, do: do} }

func checkpointLanes(rng *rand.Rand) [][]*step {
	counts := serverStep("checkpoint", func(c *client) error { return c.daemon.Jobs().Checkpoint(context.Background()) })
	big := writes(rng, "shop.orders", 1000, 36, 6000) // several memtables
	var steps []*step
	for i, s := range big {
		if steps = append(steps, s); i%8 == 7 {
			steps = append(steps, counts)
		}
	}
	return [][]*step{steps}
}

func userLanes(rng *rand.Rand) [][]*step {
	role := func(name, db string) bson.D {
		return bson.D{{Key: "role", Value: name}, {Key: "db", Value: db}}
	}
	rolesText := func(list ...any) string {
		raw, _ := bson.Marshal(bson.D{{Key: "roles", Value: bson.A(list)}})
		return bson.Raw(raw).Lookup("roles").String()
	}
	user := func(cmd, name, roles string, rest ...bson.E) *step {
		return command(cmd, "shop", append(bson.D{{Key: cmd, Value: name}}, rest...), true, change{"user shop." + name, roles})
	}
	var steps []*step
	for i, name := range []string{"ada", "bob", "eve"} {
		steps = append(steps,
			user("createUser", name, rolesText(role("read", "shop")), bson.E{Key: "pwd", Value: "secret"}, bson.E{Key: "roles", Value: bson.A{role("read", "shop")}}, bson.E{Key: "mechanisms", Value: bson.A{"SCRAM-SHA-256"}}),
			user("updateUser", name, rolesText(role("readWrite", "shop")), bson.E{Key: "roles", Value: bson.A{role("readWrite", "shop")}}),
		)
		if i > 0 {
			steps = append(steps, user("dropUser", name, ""))
		}
	}
	return [][]*step{steps, writes(rng, "shop.orders", 1000, 10, 150)}
}

func trimLanes(rng *rand.Rand) [][]*step {
	trim := serverStep("trim", func(c *client) error { return c.daemon.Jobs().Truncate(context.Background()) })
	var steps []*step
	for i, s := range writes(rng, "shop.orders", 1000, 28, 300) {
		if steps = append(steps, s); i%6 == 5 {
			steps = append(steps, trim)
		}
	}
	return [][]*step{steps}
}

// released is the folder with the data folders of released formats, as zip files.
const released = "../upgrade/released"

// unpack copies the data folder of the newest release onto a simulated disk.
func unpack(files *vfs.MemFS, data string) error {
	list, err := filepath.Glob(filepath.Join(released, "*.zip"))
	if err != nil {
		return err
	}
	r, err := zip.OpenReader(list[len(list)-1])
	if err != nil {
		return err
	}
	defer r.Close()
	for _, f := range r.File {
		path := filepath.Join(data, filepath.FromSlash(f.Name))
		if strings.HasSuffix(f.Name, "/") || !strings.HasPrefix(f.Name, "store/") {
			continue
		}
		if err := files.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		from, err := f.Open()
		if err != nil {
			return err
		}
		to, err := files.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
		if err := to.Close(); err != nil {
			return err
		}
	}
	return nil
}

func upgradeLanes(rng *rand.Rand) [][]*step {
	return [][]*step{{
		command("insert", "shop", bson.D{{Key: "insert", Value: "clustered"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: int32(500)}}}}}, false, held("shop.clustered", bson.D{{Key: "_id", Value: int32(500)}})),
		index("shop.items", "k", bson.D{{Key: "k", Value: int32(1)}}),
	}, creating("shop.fresh", writes(rng, "shop.fresh", 1000, 10, 150))}
}
