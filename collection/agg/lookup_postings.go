package agg

import (
	"bufio"
	"encoding/binary"
	"hash/maphash"
	"os"
	"slices"
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// valueHash is a hash of 128 bits with random seeds. Two values of one command with the same hash have a probability
// below 2^-60, for a billion values, and no client can choose them, so equal hashes are taken for equal values.
type valueHash struct{ hi, lo uint64 }

func (h valueHash) less(o valueHash) bool { return h.hi < o.hi || h.hi == o.hi && h.lo < o.lo }

// posting is one value of one document.
type posting struct {
	hash valueHash
	doc  int
}

// postingBytes is the size of a posting in memory and in the file.
const postingBytes = 24

// postings maps the hash of a value to the positions of the documents that have it: an array sorted by hash. If memory
// does not hold it, sorted runs of it are merged into a file without a name, of which each page's first hash stays in
// memory: the hash index of a partitioned hash join whose build side exceeds memory.
type postings struct {
	hi, lo maphash.Seed
	list   []posting
	held   int // counted bytes of list, or of first
	runs   *exec.Runs
	file   *os.File
	count  int // postings in the file
	first  []valueHash
	page   []byte
}

// pagePostings is the number of postings in a page of the file.
const pagePostings = 170

func newPostings() *postings { return &postings{hi: maphash.MakeSeed(), lo: maphash.MakeSeed()} }

// hash returns the hash of the key of a value.
func (p *postings) hash(key []byte) valueHash {
	return valueHash{maphash.Bytes(p.hi, key), maphash.Bytes(p.lo, key)}
}

// add adds a posting. Documents come in ascending order. It returns false if memory does not hold the postings: the
// caller spills or closes them.
func (p *postings) add(env *mql.Env, h valueHash, doc int) bool {
	before := cap(p.list)
	p.list = append(p.list, posting{h, doc})
	n := (cap(p.list) - before) * postingBytes
	if n == 0 {
		return true
	}
	p.held += n
	return env.Memory.Grow(n) && int64(p.held) <= env.Memory.Max()/4 || !env.Memory.MustSpill(p.held)
}

// spill writes the postings in memory as a sorted run, and removes them from memory.
func (p *postings) spill(env *mql.Env, what string, t *exec.Tracked) error {
	if len(p.list) == 0 {
		return nil
	}
	if p.runs == nil {
		var err error
		if p.runs, err = exec.NewRuns(env, what); err != nil {
			return err
		}
	}
	p.sort()
	p.runs.Begin()
	var key [postingBytes]byte
	before := p.runs.Bytes()
	for _, e := range p.list {
		if err := p.runs.Write(e.append(key[:0]), bson.EmptyDoc.Data, nil); err != nil {
			return err
		}
	}
	t.Spill(env, what, p.held, len(p.list), p.runs.Bytes()-before)
	p.list = nil
	env.Memory.Shrink(p.held)
	p.held = 0
	return nil
}

// append appends the posting in bytes whose order is that of hash and document.
func (e posting) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, e.hash.hi)
	b = binary.BigEndian.AppendUint64(b, e.hash.lo)
	return binary.BigEndian.AppendUint64(b, uint64(e.doc))
}

func parsePosting(b []byte) posting {
	return posting{valueHash{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, int(binary.BigEndian.Uint64(b[16:]))}
}

func (p *postings) sort() {
	slices.SortFunc(p.list, func(a, b posting) int {
		switch {
		case a.hash.less(b.hash):
			return -1
		case b.hash.less(a.hash):
			return 1
		}
		return a.doc - b.doc
	})
}

// seal ends adding: it sorts the postings, or merges the runs into the file. find may be called only afterwards.
//
// Errors: errors of the temporary files; errors of Tick.
func (p *postings) seal(env *mql.Env, what string, t *exec.Tracked) error {
	if p.runs == nil {
		p.sort()
		return nil
	}
	if err := p.spill(env, what, t); err != nil {
		return err
	}
	defer func() { p.runs.Close(); p.runs = nil }()
	if err := p.runs.Start(env); err != nil {
		return err
	}
	f, err := exec.TempFile(env.Memory.SpillDir, "lookup-*")
	if err != nil {
		return err
	}
	p.file = f
	w := bufio.NewWriterSize(f, 256<<10)
	for {
		key, doc, _, err := p.runs.Next()
		if err != nil {
			return err
		}
		if doc == nil {
			return w.Flush()
		}
		if err := env.Tick(); err != nil {
			return err
		}
		if p.count%pagePostings == 0 {
			p.first = append(p.first, parsePosting(key).hash)
			p.held += 16
			env.Memory.Grow(16)
		}
		p.count++
		if _, err := w.Write(key); err != nil {
			return err
		}
	}
}

// find appends to docs the positions of the documents that have a value with the hash, ascending, each once.
//
// Errors: errors of the temporary file.
func (p *postings) find(h valueHash, docs []int) ([]int, error) {
	begin := len(docs)
	take := func(e posting) bool {
		if e.hash == h && (len(docs) == begin || docs[len(docs)-1] != e.doc) {
			docs = append(docs, e.doc)
		}
		return !h.less(e.hash)
	}
	if p.file == nil {
		at := sort.Search(len(p.list), func(i int) bool { return !p.list[i].hash.less(h) })
		for at < len(p.list) && take(p.list[at]) {
			at++
		}
		return docs, nil
	}
	// The page before the first one that begins with the hash, or with a greater one, may end with it.
	page := max(0, sort.Search(len(p.first), func(i int) bool { return !p.first[i].less(h) })-1)
	for ; page < len(p.first); page++ {
		n := min(pagePostings, p.count-page*pagePostings)
		p.page = slices.Grow(p.page[:0], n*postingBytes)[:n*postingBytes]
		if _, err := p.file.ReadAt(p.page, int64(page)*pagePostings*postingBytes); err != nil {
			return nil, err
		}
		for at := range n {
			if !take(parsePosting(p.page[at*postingBytes:])) {
				return docs, nil
			}
		}
	}
	return docs, nil
}

// close releases memory and files.
func (p *postings) close(env *mql.Env) {
	env.Memory.Shrink(p.held)
	if p.runs != nil {
		p.runs.Close()
	}
	if p.file != nil {
		p.file.Close()
	}
	*p = postings{}
}
