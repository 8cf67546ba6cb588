package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// scenario is the work of the clients in one life of a server, during which the disk fails.
type scenario struct {
	name  string
	flags []string
	// base stores data before the scenario begins; nil for an empty disk.
	base func(c *client) error
	// unpack, if not nil, copies the data of another version of the program onto the disk; then base only records
	// their contents.
	unpack func(files *vfs.MemFS, data string) error
	// lanes returns the steps of concurrent clients, one list for each client. Different lanes change different
	// documents.
	lanes func(rng *rand.Rand) [][]*step
}

// step is one operation of a client in a scenario. changes lists every change that it makes to the stored data when it
// succeeds. After a fault during the step, each of them may be there or not, unless whole is set.
type step struct {
	name    string
	do      func(c *client) error
	changes []change
	whole   bool // the step is atomic: after a fault all of its changes are there or none
}

// change is the value that a key of the state has after a step; "" if the step deletes the key.
type change struct{ key, value string }

// progress counts the steps of each lane.
type progress struct {
	lanes [][]*step
	begun []atomic.Int32 // per lane
	acked []atomic.Int32
}

// sample is a copy of the counts in progress at a moment: acknowledged and begun steps of each lane.
type sample struct{ acked, begun []int32 }

func newProgress(lanes [][]*step) *progress {
	return &progress{lanes, make([]atomic.Int32, len(lanes)), make([]atomic.Int32, len(lanes))}
}

func load(list []atomic.Int32) (out []int32) {
	for i := range list {
		out = append(out, list[i].Load())
	}
	return out
}

// expect returns the state that the data must have at a sample, and the steps that had begun without a reply,
// whose outcome is undetermined.
func (p *progress) expect(base state, at sample) (want state, pending []*step) {
	want = base.clone()
	for i, lane := range p.lanes {
		for _, s := range lane[:at.acked[i]] {
			want.apply(s.changes)
		}
		pending = append(pending, lane[at.acked[i]:at.begun[i]]...)
	}
	return want, pending
}

// live runs the lanes at the same time, each to its end or its first error, and returns these errors.
func (p *progress) live(m *machine) error {
	var lanes sync.WaitGroup
	errs := make([]error, len(p.lanes))
	for i := range p.lanes {
		lanes.Go(func() {
			c := &client{machine: m}
			defer c.hangUp()
			for n, s := range p.lanes[i] {
				p.begun[i].Store(int32(n + 1))
				err := s.do(c)
				if err == nil && m.dead.Load() {
					err = errLost // a step that runs inside the server has no reply that could get lost
				}
				if err != nil {
					errs[i] = fmt.Errorf("%s: %w", s.name, err)
					return
				}
				p.acked[i].Store(int32(n + 1))
			}
		})
	}
	lanes.Wait()
	return errors.Join(errs...)
}

// prepare returns a disk with the data with which the scenario begins, and their expected state. With torn, the
// server was not shut down, so its last writes are only in the log.
func (sc *scenario) prepare(data string, torn bool) (*vfs.MemFS, state, error) {
	files := vfs.NewCrashableMem()
	if sc.base == nil {
		return files, state{}, nil
	}
	var untouched *vfs.MemFS
	if sc.unpack != nil {
		if err := sc.unpack(files, data); err != nil {
			return nil, nil, err
		}
		untouched = copyOf(files)
	}
	m, err := start(settings{data: data, files: files, flags: sc.flags})
	if err != nil {
		return nil, nil, err
	}
	if err = sc.base(m.client); err != nil {
		return nil, nil, errors.Join(err, m.stop())
	}
	held, err := m.observe()
	if err != nil {
		return nil, nil, errors.Join(err, m.stop())
	}
	image := copyOf(files)
	err = m.stop()
	switch {
	case untouched != nil:
		image = untouched
	case !torn:
		image = copyOf(files)
	}
	return image, held, err
}

// copyOf returns a copy of a simulated disk with all its data, synced or not.
func copyOf(files *vfs.MemFS) *vfs.MemFS {
	return files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// namespace splits a namespace into database and collection.
func namespace(ns string) (db, coll string) {
	db, coll, _ = strings.Cut(ns, ".")
	return db, coll
}

// document returns a document with an _id, a value v, and size bytes that compress badly.
func document(rng *rand.Rand, id int, v int, size int) bson.D {
	pad := make([]byte, size)
	for i := range pad {
		pad[i] = byte('a' + rng.IntN(26))
	}
	return bson.D{{Key: "_id", Value: int32(id)}, {Key: "v", Value: int32(v)}, {Key: "k", Value: int32(id % 10)}, {Key: "pad", Value: string(pad)}}
}

// held returns the change of a stored document.
func held(ns string, doc bson.D) change {
	raw, err := bson.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return change{"docs " + ns + " " + bson.Raw(raw).Lookup("_id").String(), string(raw)}
}

// deleted returns the change of a deleted document.
func deleted(ns string, id int) change {
	return change{held(ns, bson.D{{Key: "_id", Value: int32(id)}}).key, ""}
}

// command returns a step of one command.
func command(name, db string, cmd bson.D, whole bool, changes ...change) *step {
	return &step{name: name, changes: changes, whole: whole, do: func(c *client) error {
		_, err := c.run(db, cmd)
		return err
	}}
}

// insert returns a step that inserts documents.
func insert(ns string, docs ...bson.D) *step {
	db, coll := namespace(ns)
	s := command("insert", db, bson.D{{Key: "insert", Value: coll}, {Key: "documents", Value: docs}}, false)
	for _, doc := range docs {
		s.changes = append(s.changes, held(ns, doc))
	}
	return s
}

// replace returns a step that replaces a document by doc, or inserts doc if there is none with its _id.
func replace(ns string, doc bson.D) *step {
	db, coll := namespace(ns)
	return command("replace", db, bson.D{{Key: "update", Value: coll}, {Key: "updates", Value: bson.A{
		bson.D{{Key: "q", Value: doc[:1]}, {Key: "u", Value: doc}, {Key: "upsert", Value: true}}}}}, false, held(ns, doc))
}

// remove returns a step that deletes a document.
func remove(ns string, id int) *step {
	db, coll := namespace(ns)
	return command("delete", db, bson.D{{Key: "delete", Value: coll}, {Key: "deletes", Value: bson.A{
		bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: int32(id)}}}, {Key: "limit", Value: 1}}}}}, false, deleted(ns, id))
}

// find returns a step that reads a document by its _id and compares it with doc.
func find(ns string, doc bson.D) *step {
	db, coll := namespace(ns)
	return &step{name: "find", do: func(c *client) error {
		docs, err := c.all(db, bson.D{{Key: "find", Value: coll}, {Key: "filter", Value: doc[:1]}})
		if err != nil {
			return err
		}
		if want := held(ns, doc).value; len(docs) != 1 || string(docs[0]) != want {
			return &wrongAnswer{fmt.Sprintf("%d documents, not %s: %v", len(docs), show(want), docs)}
		}
		return nil
	}}
}

// wrongAnswer is the error of a wrong result.
type wrongAnswer struct{ what string }

func (w *wrongAnswer) Error() string { return "a wrong answer: " + w.what }

// made returns the changes of a new collection.
func made(ns string) []change {
	return []change{{"collection " + ns, "collection"}, {"index " + ns + " _id_", `{"_id": {"$numberInt":"1"}}`}}
}

// session returns the lsid of a client.
func session(n byte) bson.D {
	id := make([]byte, 16)
	binary.BigEndian.PutUint64(id, uint64(n)+1)
	return bson.D{{Key: "id", Value: bson.Binary{Subtype: 4, Data: id}}}
}

// transaction returns a step that runs commands in a multi-document transaction, and commits or aborts it. changes
// are those of a commit.
func transaction(lsid bson.D, number int, commit bool, commands []namedCommand, changes ...change) *step {
	s := &step{name: "transaction", changes: changes, whole: true}
	if !commit {
		s.changes = nil
	}
	s.do = func(c *client) error {
		tail := bson.D{{Key: "lsid", Value: lsid}, {Key: "txnNumber", Value: int64(number)}, {Key: "autocommit", Value: false}}
		for i, x := range commands {
			cmd := append(append(bson.D{}, x.cmd...), tail...)
			if i == 0 {
				cmd = append(cmd, bson.E{Key: "startTransaction", Value: true})
			}
			if _, err := c.run(x.db, cmd); err != nil {
				return err
			}
		}
		end := "abortTransaction"
		if commit {
			end = "commitTransaction"
		}
		_, err := c.run("admin", append(bson.D{{Key: end, Value: 1}}, tail...))
		return err
	}
	return s
}

// namedCommand is a command and its database.
type namedCommand struct {
	db  string
	cmd bson.D
}
