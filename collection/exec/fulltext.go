package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// textOr delivers each record whose text contains one of several words, from a text index. Without scores it
// streams the records; with scores it must read all entries first.
type textOr struct {
	Counters
	node   *plan.TextOr
	in     []Operator
	at     int
	seen   recordSet
	found  []scored
	index  map[[2]uint64]int // index in found by the hash of the record
	held   int
	env    *mql.Env
	next   int
	loaded bool
	row    Row
	meta   metaBuilder
	dec    keystring.Decoder
}

// scored is a record found by $text, and the sum of the scores of its words.
type scored struct {
	hash  keyspace.Hash
	id    []byte
	shard int
	score float64
}

func (t *textOr) Next(env *mql.Env) (*Row, error) {
	if !t.node.Scores {
		return t.stream(env)
	}
	if !t.loaded {
		if err := t.load(env); err != nil {
			return nil, err
		}
		t.loaded = true
	}
	if t.next == len(t.found) {
		t.Done = true
		return nil, nil
	}
	f := &t.found[t.next]
	t.next++
	t.Returned++
	b := t.meta.begin(nil)
	b.Double("textScore", f.score)
	t.row = Row{Hash: f.hash, ID: f.id, Shard: f.shard, Meta: t.meta.end()}
	return &t.row, nil
}

func (t *textOr) stream(env *mql.Env) (*Row, error) {
	for t.at < len(t.in) {
		r, err := t.in[t.at].Next(env)
		if err != nil {
			return nil, err
		}
		if r == nil {
			t.at++
			continue
		}
		t.Works++
		fresh := true
		if len(t.in) > 1 {
			if fresh, err = t.seen.add(env, r); err != nil {
				return nil, err
			}
		}
		if fresh {
			t.Returned++
			return r, nil
		}
		t.Dropped++
	}
	t.Done = true
	return nil, nil
}

// load reads all index entries of the words of a $text search, and adds up the scores of each record.
func (t *textOr) load(env *mql.Env) error {
	t.env = env
	t.index = map[[2]uint64]int{}
	for _, in := range t.in {
		if err := Drain(env, in, func(r *Row) error { return t.add(env, r) }); err != nil {
			return err
		}
	}
	return nil
}

// add adds the score of an index entry to the score of its record.
func (t *textOr) add(env *mql.Env, r *Row) error {
	t.Works++
	score, err := t.score(r)
	if err != nil {
		return err
	}
	if _, err := t.seen.add(env, r); err != nil {
		return err
	}
	k := t.seen.hash(r)
	if i, ok := t.index[k]; ok {
		t.found[i].score += score
		t.Dropped++
		return nil
	}
	t.index[k] = len(t.found)
	t.found = append(t.found, scored{r.Hash, append([]byte(nil), r.ID...), r.Shard, score})
	t.held += len(r.ID) + 128
	if !env.Memory.Grow(len(r.ID) + 128) {
		return env.Memory.ExceededError("$text with textScore")
	}
	return nil
}

// score returns the score of a word in a document, which follows the word in the entry of a text index.
func (t *textOr) score(r *Row) (float64, error) {
	values, b := r.Values, bson.NewBuilder(nil)
	scan, _ := t.node.Branches[0].(*plan.IndexScan)
	dirs := scan.Index.Dirs()
	for i := 0; i <= t.node.Field; i++ {
		n, err := keystring.Skip(values, dirs[i])
		if err != nil {
			return 0, err
		}
		values = values[n:]
	}
	t.dec.Reset(nil)
	if _, err := t.dec.Value(b, "s", values, dirs[t.node.Field+1]); err != nil {
		return 0, err
	}
	f, ok := b.Doc().Get("s").AsFloat()
	if !ok {
		return 0, storage.ErrCorruption
	}
	return f, nil
}

func (t *textOr) Explain(b *bson.Builder, stats bool) {
	explainNode(b, t.node, &t.Counters, stats)
	if stats {
		t.appendDropped(b, t.Works)
	}
	explainInputs(b, stats, t.in...)
}

func (t *textOr) Close() {
	closeAll(t.in)
	t.seen.release()
	if t.env != nil {
		t.env.Memory.Shrink(t.held)
		t.held = 0
	}
}

// textMatch drops documents that do not match the parts of a $text search that an index cannot answer, such as
// phrases, or the rest of the filter.
type textMatch struct {
	Counters
	node   *plan.TextMatch
	in     Operator
	filter filter
}

func (t *textMatch) Next(env *mql.Env) (*Row, error) {
	for {
		r, err := t.in.Next(env)
		if r == nil || err != nil {
			t.Done = err == nil
			return nil, err
		}
		t.Works++
		if !t.node.Index.TextMatch(r.Doc, t.node.Query) {
			continue
		}
		if t.node.Filter != nil {
			ok, err := t.filter.matches(env, t.node.Filter, r.Doc)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
		}
		t.Returned++
		return r, nil
	}
}

func (t *textMatch) Explain(b *bson.Builder, stats bool) {
	explainStage(b, t.node, &t.Counters, stats, t.in)
}
func (t *textMatch) Close() {
	t.in.Close()
	t.filter.close()
}
