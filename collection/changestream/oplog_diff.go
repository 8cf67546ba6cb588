package changestream

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
)

// diffNode holds the changes below one field, nested as in the diff of an oplog entry: d for
// removed fields, u for values, s before the name of a field that changed inside; a marks an array,
// with length l if it was truncated.
// Observed: local.oplog.rs of mongod 7.0.
type diffNode struct {
	array     bool
	length    int32 // of a truncated array, else -1
	removed   []string
	values    []diffValue
	inside    map[string]*diffNode
	insideAre []string // the names of inside in order
}

type diffValue struct {
	name  string
	value bson.Value
}

// diff converts a delta to the diff of an oplog entry.
func diff(delta bson.Raw) bson.Raw {
	trails, _ := delta.Get("disambiguatedPaths").Doc()
	root := &diffNode{length: -1}
	if d, ok := delta.Get("updatedFields").Doc(); ok {
		for it := d.Iter(); it.Next(); {
			n, name := root.at(string(it.Name), trails)
			n.values = append(n.values, diffValue{name, it.Value})
		}
	}
	if list, ok := delta.Get("removedFields").Array(); ok {
		for v := range list.Values() {
			path, _ := v.Str()
			n, name := root.at(path, trails)
			n.removed = append(n.removed, name)
		}
	}
	if list, ok := delta.Get("truncatedArrays").Array(); ok {
		for v := range list.Values() {
			d, _ := v.Doc()
			path, _ := d.Get("field").Str()
			n, name := root.at(path, trails)
			n = n.child(name)
			n.array = true
			n.length, _ = d.Get("newSize").Int32()
		}
	}
	b := bson.NewBuilder(nil)
	root.append(b)
	return b.Doc()
}

// at returns the node that contains the last component of a path, and that component. A number in a path is an array
// index, unless it comes first, or trails, the disambiguatedPaths of the delta, has it as a name.
func (n *diffNode) at(at string, trails bson.Raw) (*diffNode, string) {
	type component struct {
		name    string
		element bool
	}
	var all []component
	if trail, ok := trails.Get(at).Array(); ok {
		for v := range trail.Values() {
			if i, ok := v.Int32(); ok {
				all = append(all, component{strconv.Itoa(int(i)), true})
			} else {
				name, _ := v.Str()
				all = append(all, component{name, false})
			}
		}
	} else {
		for name := range strings.SplitSeq(at, ".") {
			all = append(all, component{name, len(all) > 0 && path.Position(name) >= 0})
		}
	}
	for i, c := range all {
		n.array = n.array || c.element
		if i < len(all)-1 {
			n = n.child(c.name)
		}
	}
	return n, all[len(all)-1].name
}

// child returns the node of a field or element, creating it if needed.
func (n *diffNode) child(name string) *diffNode {
	if n.inside == nil {
		n.inside = map[string]*diffNode{}
	}
	c := n.inside[name]
	if c == nil {
		c = &diffNode{length: -1}
		n.inside[name] = c
		n.insideAre = append(n.insideAre, name)
	}
	return c
}

// append writes the node into an open document.
func (n *diffNode) append(b *bson.Builder) {
	if n.array {
		n.appendArray(b)
		return
	}
	if len(n.removed) > 0 {
		b.BeginDoc("d")
		for _, name := range n.removed {
			b.Bool(name, false)
		}
		b.End()
	}
	if len(n.values) > 0 {
		b.BeginDoc("u")
		for _, v := range n.values {
			b.Value(v.name, v.value)
		}
		b.End()
	}
	for _, name := range n.insideAre {
		b.BeginDoc("s" + name)
		n.inside[name].append(b)
		b.End()
	}
}

// appendArray writes an array's node: its changed elements in order.
func (n *diffNode) appendArray(b *bson.Builder) {
	b.Bool("a", true)
	if n.length >= 0 {
		b.Int32("l", n.length)
	}
	at := map[int]bson.Value{}
	var order []int
	for _, v := range n.values {
		i, _ := strconv.Atoi(v.name)
		at[i] = v.value
		order = append(order, i)
	}
	for _, name := range n.insideAre {
		i, _ := strconv.Atoi(name)
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range order {
		name := strconv.Itoa(i)
		if v, ok := at[i]; ok {
			b.Value("u"+name, v)
			continue
		}
		b.BeginDoc("s" + name)
		n.inside[name].append(b)
		b.End()
	}
}
