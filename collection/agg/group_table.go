package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// groupTable holds the groups of a $group in memory, by key, and the runs of spilled groups. Keys are
// keystrings of the groups' _ids: equal bytes are equal values under the collation.
type groupTable struct {
	out    []output
	groups map[string]*group
	order  []*group // in the order of their first documents
	key    []byte
	held   int // bytes counted in the budget
	exec.Tracked
	runs *exec.Runs
	wide maker // for spilling
}

// group is one group.
type group struct {
	key    string
	id     bson.Value
	states []State
}

// groupBytes is the approximate memory of a group in addition to its key and values, stateBytes of one
// accumulator's state.
const (
	groupBytes = 160
	stateBytes = 112
)

// find returns the group of an _id; it creates the group if there is none. s is scratch memory for the
// arguments of accumulators.
func (t *groupTable) find(env *mql.Env, id bson.Value, s *expr.Scratch) (*group, error) {
	t.key = keystring.Append(t.key[:0], id, keystring.Ascending, env.Order(), nil)
	if g, ok := t.groups[string(t.key)]; ok {
		return g, nil
	}
	return t.add(env, id, s)
}

func (t *groupTable) add(env *mql.Env, id bson.Value, s *expr.Scratch) (*group, error) {
	if t.groups == nil {
		t.groups = map[string]*group{}
	}
	g := &group{key: string(t.key), id: id.Clone(), states: make([]State, len(t.out))}
	for i, o := range t.out {
		var err error
		if g.states[i], err = o.fn.Start(env, g.id, s); err != nil {
			return nil, err
		}
	}
	t.groups[g.key] = g
	t.order = append(t.order, g)
	t.held += groupBytes + stateBytes*len(t.out) + len(g.key) + len(id.Data)
	return g, nil
}

// count counts in the memory budget by how much the table has grown beyond before bytes, and spills the groups if the
// budget is exceeded and Memory.MustSpill requires it.
func (t *groupTable) count(env *mql.Env, before int) error {
	grew := t.held - before
	t.Hold(t.held)
	if grew == 0 || env.Memory.Grow(grew) || !env.Memory.MustSpill(t.held) {
		return nil
	}
	return t.spill(env)
}

// spill writes all groups as one run and removes them from memory.
func (t *groupTable) spill(env *mql.Env) (err error) {
	if t.runs == nil {
		if t.runs, err = exec.NewRuns(env, "$group"); err != nil {
			return err
		}
	}
	prefix := func(g **group) exec.KeyPrefix { return exec.PrefixOf((*g).key) }
	if err := exec.SortByKeys(env, t.order, prefix, func(a, b **group) int { return strings.Compare((*a).key, (*b).key) }); err != nil {
		return err
	}
	start := t.runs.Bytes()
	t.runs.Begin()
	for _, g := range t.order {
		if err := g.flush(env); err != nil {
			return err
		}
		if err := t.runs.Write([]byte(g.key), t.partial(g), nil); err != nil {
			return err
		}
	}
	t.Spill(env, "$group", t.held, len(t.order), t.runs.Bytes()-start)
	clear(t.groups)
	clear(t.order)
	t.order = t.order[:0]
	t.release(env)
	return nil
}

// partial returns the group as a document of its _id and the partial states of its accumulators. The document
// is valid until the next call.
func (t *groupTable) partial(g *group) bson.Raw {
	b := t.wide.begin()
	b.Value("_id", g.id)
	for i, o := range t.out {
		g.states[i].Partial(b, o.name)
	}
	t.wide.buf = b.Finish()
	return bson.Raw(t.wide.buf)
}

// flush prepares the states for Partial.
func (g *group) flush(env *mql.Env) error {
	for _, s := range g.states {
		if f, ok := s.(flusher); ok {
			if err := f.flush(env); err != nil {
				return err
			}
		}
	}
	return nil
}

// merge adds the partial states in a document to the group's states. It returns the number of bytes by which
// they have grown.
func (g *group) merge(env *mql.Env, doc bson.Raw) (grew int, err error) {
	it := doc.Iter()
	it.Next() // _id
	for i := range g.states {
		if !it.Next() {
			return grew, badPartial("$group")
		}
		n, err := g.states[i].Merge(env, it.Value)
		if err != nil {
			return grew, err
		}
		grew += n
	}
	return grew, nil
}

// release returns the memory to the budget.
func (t *groupTable) release(env *mql.Env) {
	env.Memory.Shrink(t.held)
	t.held = 0
}
