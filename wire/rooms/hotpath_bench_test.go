//go:build unix

package rooms

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/wire"
)

// hotDocs is the number of documents of 1 KB in each of the collections c, whole and divided; whole has one
// partition, divided has 64. Benchmarks insert documents into another collection. An indexed field of c has hotGroups
// values, each in hotGroups documents.
const (
	hotDocs   = 10_000
	hotGroups = 100
)

// hotPaths lists the commands whose cost matters most, in the form in which drivers send them.
var hotPaths = []struct {
	name    string
	clients int // number of clients; durable writes have many, because these share the syncs
	command func(m *hotMessage, i int64)
	prepare func(w *hotWorld, first, n int64)
}{
	{name: "insert", clients: 64, command: func(m *hotMessage, i int64) {
		m.String("insert", "added")
		m.name = "documents"
		m.add(func(s *bson.Builder) { hotFields(s, hotNew+i) })
	}},
	{name: "insert-1000", clients: 1, command: func(m *hotMessage, i int64) {
		m.String("insert", "added")
		m.name = "documents"
		for n := range int64(1000) {
			m.add(func(s *bson.Builder) { hotFields(s, 2*hotNew+1000*i+n) })
		}
	}},
	{name: "update", clients: 64, command: func(m *hotMessage, i int64) {
		m.String("update", "c")
		m.name = "updates"
		m.add(func(s *bson.Builder) {
			byID(s, "q", i)
			s.BeginDoc("u")
			s.BeginDoc("$set")
			s.Int64("field3", i)
			s.End()
			s.End()
		})
	}},
	{name: "findAndModify", clients: 64, command: func(m *hotMessage, i int64) {
		m.String("findAndModify", "c")
		byID(m.Builder, "query", i)
		m.BeginDoc("update")
		m.BeginDoc("$inc")
		m.Int64("n", 1)
		m.End()
		m.End()
		m.Bool("new", true)
		m.Int64("txnNumber", i)
	}},
	{name: "delete", clients: 64, prepare: func(w *hotWorld, first, n int64) { w.insert("added", 3*hotNew+first, n) }, command: func(m *hotMessage, i int64) {
		m.String("delete", "added")
		m.name = "deletes"
		m.add(func(s *bson.Builder) {
			s.BeginDoc("q")
			s.Int64("_id", 3*hotNew+i)
			s.End()
			s.Int32("limit", 1)
		})
	}},
	{name: "bulkWrite", clients: 16, command: func(m *hotMessage, i int64) {
		m.Int32("bulkWrite", 1)
		m.BeginArray("nsInfo")
		m.BeginDoc("")
		m.String("ns", "test.c")
		m.End()
		m.End()
		m.name = "ops"
		for n := range int64(10) {
			id := 4*hotNew + 10*i + n
			m.add(func(s *bson.Builder) {
				s.Int32("insert", 0)
				s.BeginDoc("document")
				hotFields(s, id)
				s.End()
			})
			m.add(func(s *bson.Builder) {
				s.Int32("update", 0)
				byID(s, "filter", i+n)
				s.BeginDoc("updateMods")
				s.BeginDoc("$inc")
				s.Int64("n", 1)
				s.End()
				s.End()
			})
			m.add(func(s *bson.Builder) {
				s.Int32("delete", 0)
				s.BeginDoc("filter")
				s.Int64("_id", id)
				s.End()
			})
		}
	}},
	{name: "read", clients: 1, command: func(m *hotMessage, i int64) { readOf(m, "c", i) }},
	{name: "read-of-1", clients: 1, command: func(m *hotMessage, i int64) { readOf(m, "whole", i) }},
	{name: "read-of-64", clients: 1, command: func(m *hotMessage, i int64) { readOf(m, "divided", i) }},
	{name: "range-50", clients: 1, command: func(m *hotMessage, i int64) {
		m.String("find", "c")
		m.BeginDoc("filter")
		m.BeginDoc("_id")
		m.Int64("$gte", i*7919%(hotDocs-50))
		m.End()
		m.End()
		m.BeginDoc("sort")
		m.Int32("_id", 1)
		m.End()
		m.Int64("limit", 50)
	}},
	{name: "find-1", clients: 1, command: func(m *hotMessage, i int64) {
		m.String("find", "c")
		m.BeginDoc("filter")
		m.Int64("group", i%hotGroups)
		m.BeginDoc("plain")
		m.Int64("$gte", 0)
		m.End()
		m.End()
		m.Int64("limit", 1)
		m.Bool("singleBatch", true)
	}},
	{name: "find-100", clients: 1, command: func(m *hotMessage, i int64) {
		m.String("find", "c")
		m.BeginDoc("filter")
		m.Int64("group", i%hotGroups)
		m.End()
		m.Int32("batchSize", 1000)
	}},
	{name: "count-1000", clients: 1, command: func(m *hotMessage, i int64) {
		m.String("count", "c")
		m.BeginDoc("query")
		m.BeginDoc("group")
		m.Int64("$gte", 10)
		m.Int64("$lt", 20)
		m.End()
		m.End()
	}},
	{name: "scan-nothing", clients: 1, command: func(m *hotMessage, i int64) {
		m.String("find", "c")
		m.BeginDoc("filter")
		m.Int64("plain", -1)
		m.End()
	}},
	{name: "scan-all", clients: 1, command: func(m *hotMessage, i int64) {
		m.String("find", "c")
		m.Int64("limit", hotDocs)
	}},
	{name: "sort-limit", clients: 1, command: func(m *hotMessage, i int64) {
		m.String("find", "c")
		m.BeginDoc("sort")
		m.Int32("plain", -1)
		m.End()
		m.Int64("limit", 10)
	}},
	{name: "group", clients: 1, command: func(m *hotMessage, i int64) {
		oneStage(m.Builder, `$group`, func() {
			m.String("_id", "$group")
			m.BeginDoc("n")
			m.String("$sum", "$plain")
			m.End()
		})
	}},
	{name: "lookup", clients: 1, command: func(m *hotMessage, i int64) {
		oneStage(m.Builder, `$lookup`, func() {
			m.String("from", "c")
			m.String("localField", "plain")
			m.String("foreignField", "_id")
			m.String("as", "same")
		})
	}},
}

// readOf builds a read of one document by _id.
func readOf(m *hotMessage, coll string, i int64) {
	m.String("find", coll)
	byID(m.Builder, "filter", i)
	m.Int64("limit", 1)
	m.Bool("singleBatch", true)
}

// hotNew is the number of the first added document.
const hotNew = 1 << 40

// BenchmarkHot measures the commands of hotPaths on a store on disk: all work of a server except the network. Writes
// are durable and retryable. Compare cpu-µs/op, which hardly depends on other load of the machine, and the
// allocations.
func BenchmarkHot(b *testing.B) {
	w := newHotWorld(b)
	for _, p := range hotPaths {
		var next atomic.Int64
		b.Run(p.name, func(b *testing.B) {
			end := next.Load() + int64(b.N)
			if p.prepare != nil {
				p.prepare(w, next.Load(), int64(b.N))
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := cpuTime()
			var group sync.WaitGroup
			for range p.clients {
				c := w.client()
				group.Go(func() {
					for i := next.Add(1) - 1; i < end; i = next.Add(1) - 1 {
						c.run(b, func(m *hotMessage) { p.command(m, i) })
					}
				})
			}
			group.Wait()
			next.Store(end)
			b.StopTimer()
			b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
		})
	}
}

// hotWorld is a server over a store on disk, with the collections that the commands of hotPaths use.
type hotWorld struct {
	*world
	b *testing.B
}

func newHotWorld(b *testing.B) *hotWorld {
	store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{ReserveBytes: -1, CacheBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	w := &hotWorld{newWorld(b, store), b}
	w.Durability = storage.Synced
	b.Cleanup(func() { closeStore(b, store) })
	for _, coll := range []string{"c", "added"} {
		w.dial().ok(`{createIndexes: "` + coll + `", indexes: [{key: {group: 1}, name: "group_1"}]}`)
	}
	w.insert("c", 0, hotDocs)
	w.dial().ok(`{shardCollection: "test.whole", key: {_id: "hashed"}, numInitialChunks: 1, $db: "admin"}`)
	w.dial().ok(`{shardCollection: "test.divided", key: {_id: "hashed"}, numInitialChunks: 64, $db: "admin"}`)
	w.insert("whole", 0, hotDocs)
	w.insert("divided", 0, hotDocs)
	return w
}

// insert adds n documents to a collection, numbered from first.
func (w *hotWorld) insert(coll string, first, n int64) {
	c := w.client()
	for end := first + n; first < end; {
		c.run(w.b, func(m *hotMessage) {
			m.String("insert", coll)
			m.name = "documents"
			for more := min(1000, end-first); more > 0; more-- {
				m.add(func(s *bson.Builder) { hotFields(s, first) })
				first++
			}
		})
	}
}

// hotMessage builds the message of a command: the body and, unless name is "", a document sequence with this name.
type hotMessage struct {
	*bson.Builder
	name     string
	sequence []byte
	document *bson.Builder // memory of a document
}

// add appends a document to the sequence.
func (m *hotMessage) add(fill func(s *bson.Builder)) {
	m.document.Reset(m.document.Since(0)[:0])
	fill(m.document)
	m.sequence = append(m.sequence, m.document.Doc()...)
}

// hotClient is a connection with a session and its memory.
type hotClient struct {
	*client
	out     *wire.Reply
	making  hotMessage
	session []byte
	message wire.Message
	space   [1]wire.Sequence
	number  int64
}

func (w *hotWorld) client() *hotClient {
	c := w.dial()
	return &hotClient{
		client: c, out: wire.NewReply(&c.pool), session: fmt.Appendf(nil, "%016d", c.id),
		making: hotMessage{Builder: bson.NewBuilder(nil), document: bson.NewBuilder(nil)},
	}
}

// run runs a command and then the getMores of its cursor. The benchmark fails if one of them fails.
func (c *hotClient) run(b *testing.B, command func(m *hotMessage)) {
	r := c.handle(b, command)
	cursor, _ := r.Get("cursor").Doc()
	id, _ := cursor.Get("id").Int64()
	for c.out.Release(); id != 0; c.out.Release() {
		r = c.handle(b, func(m *hotMessage) {
			m.Int64("getMore", id)
			m.String("collection", "c")
		})
		cursor, _ = r.Get("cursor").Doc()
		id, _ = cursor.Get("id").Int64()
	}
}

// handle runs one command, which must succeed, and returns its reply, which is valid until c.out is released.
func (c *hotClient) handle(b *testing.B, command func(m *hotMessage)) bson.Raw {
	m := &c.making
	m.Reset(m.Since(0)[:0])
	m.name, m.sequence = "", m.sequence[:0]
	command(m)
	m.BeginDoc("lsid")
	m.Binary("id", 4, c.session)
	m.End()
	db := "test"
	switch m.name {
	case "ops":
		db = "admin"
		fallthrough
	case "documents", "updates", "deletes":
		m.Int64("txnNumber", c.number)
		c.number++
	}
	m.String("$db", db)
	c.message = wire.Message{Header: wire.Header{OpCode: wire.OpMsg, RequestID: 1}, Body: m.Doc()}
	if m.name != "" {
		c.space[0] = wire.Sequence{Name: []byte(m.name), Data: m.sequence}
		for range c.space[0].Docs() {
			c.space[0].Count++
		}
		c.message.Sequences = c.space[:]
	}
	c.out.Start(&c.message)
	if err := c.w.Handle(context.Background(), c, &c.message, c.out); err != nil {
		b.Fatal(err)
	}
	reply, err := c.out.Finish(1, 1)
	if err != nil {
		b.Fatal(err)
	}
	r := bson.Raw(reply[wire.HeaderSize+5:])
	if _, bad := r.Lookup("writeErrors"); bad || !r.Get("ok").Truthy() {
		b.Fatal(r)
	}
	return r
}

// byID appends a filter for the _id of one of the documents that exist from the beginning; i selects the document in
// pseudo-random order.
func byID(b *bson.Builder, name string, i int64) {
	b.BeginDoc(name)
	b.Int64("_id", i*7919%hotDocs)
	b.End()
}

// oneStage builds an aggregate of one stage.
func oneStage(b *bson.Builder, stage string, fill func()) {
	b.String("aggregate", "c")
	b.BeginArray("pipeline")
	b.BeginDoc("")
	b.BeginDoc(stage)
	fill()
	b.End()
	b.End()
	b.End()
	b.BeginDoc("cursor")
	b.End()
}

// hotNames and hotText are the names and the value of the fields that fill a document.
var hotNames = [10]string{"field0", "field1", "field2", "field3", "field4", "field5", "field6", "field7", "field8", "field9"}

const hotText = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl"

// hotFields adds the fields of a document of 1 KB.
func hotFields(d *bson.Builder, id int64) {
	d.Int64("_id", id)
	d.Int64("group", id%hotGroups)
	d.Int64("plain", id)
	for _, name := range hotNames {
		d.String(name, hotText)
	}
}

func closeStore(b *testing.B, s storage.Store) {
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}

// cpuTime returns the user and system time of the process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
