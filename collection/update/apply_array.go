package update

import (
	"bytes"
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// paddingMax is the largest number of nulls that fill the gap between the end of an array and a new element.
const paddingMax = 1_500_000

func appendIndex(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(i), 10) }

// elements applies $[] and $[id] to the elements of an array.
func (a *applier) elements(n *node, arr bson.Raw) error {
	run := 4
	for it := arr.Iter(); ; {
		at := it.Offset(arr)
		if !it.Next() {
			break
		}
		if err := a.env.Tick(); err != nil {
			return err
		}
		c, err := a.admitted(n, it.Name, it.Value)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		a.b.Splice(arr[run:at])
		run = it.Offset(arr)
		if err := a.field(c, it.Name, it.Value, true); err != nil {
			return err
		}
	}
	a.b.Splice(arr[run : len(arr)-1])
	return nil
}

// admitted returns the node whose actions apply to the array element v: those of $[] and of the $[id] whose filters
// v matches. The node is nil if there are none.
func (a *applier) admitted(n *node, name []byte, v bson.Value) (*node, error) {
	first := len(a.nodes)
	defer func() { a.nodes = a.nodes[:first] }()
	for _, c := range n.children {
		if c.kind == filtered {
			ok, err := a.admits(c.filter, v)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
		}
		a.nodes = append(a.nodes, c)
	}
	if len(a.nodes) == first {
		return nil, nil
	}
	return merged(a.nodes[first:], n.path+"."+string(bytes.Clone(name)))
}

// positions writes the array v with the changes of the children of n that select elements by position: numbers, and
// $.
func (a *applier) positions(n *node, name []byte, v bson.Value) error {
	arr := bson.Raw(v.Data)
	for _, c := range n.children {
		if c.kind == named && c.index < 0 && !a.idle(c) {
			return mongoerr.New(mongoerr.PathNotViable, "Cannot create field '%s' in element {%s: %s}", c.name, name, shown(v))
		}
	}
	run, count, next := 4, 0, 0
	for it := arr.Iter(); ; count++ {
		at := it.Offset(arr)
		if !it.Next() {
			break
		}
		c, err := a.at(n, count, &next)
		if err != nil {
			return err
		}
		if c != nil {
			a.b.Splice(arr[run:at])
			run = it.Offset(arr)
			if err := a.field(c, it.Name, it.Value, true); err != nil {
				return err
			}
		}
		if !a.p.positional && (next == len(n.children) || n.children[next].index < 0) {
			break // no further position
		}
	}
	a.b.Splice(arr[run : len(arr)-1])
	return a.extend(n, count, next)
}

// at returns the child of n that selects the array element i by its number or by $, nil if there is none. next is
// advanced to the first numbered child after i, as elements are visited in order.
func (a *applier) at(n *node, i int, next *int) (*node, error) {
	var found *node
	for *next < len(n.children) && n.children[*next].index >= 0 && int(n.children[*next].index) <= i {
		if int(n.children[*next].index) == i {
			found = n.children[*next]
		}
		*next++
	}
	if !a.p.positional || i != a.in.Position {
		return found, nil
	}
	for _, c := range n.children {
		if c.kind != positional {
			continue
		}
		if found == nil {
			return c, nil
		}
		return merged([]*node{found, c}, c.path)
	}
	return found, nil
}

// extend writes the elements that children of n create beyond the end of an array of count elements, and nulls in
// the gaps. next is the index of the first child that was not applied to an element.
func (a *applier) extend(n *node, count, next int) error {
	for _, c := range n.children[next:] {
		i := int(c.index)
		if c.kind == positional {
			i = a.in.Position
		}
		if i < count {
			continue
		}
		if i-count > paddingMax {
			if c.can&creates == 0 || a.idle(c) {
				continue
			}
			return mongoerr.New(mongoerr.CannotBackfillArray, "can't backfill array to larger than %d elements", paddingMax)
		}
		mark := a.b.Mark()
		for k := count; k < i; k++ {
			a.name = appendIndex(a.name[:0], k)
			a.b.ValueBytes(a.name, bson.Null)
		}
		before := a.b.Len()
		a.name = appendIndex(a.name[:0], i)
		if err := a.create(c, a.name); err != nil {
			return err
		}
		if a.b.Len() == before {
			a.b.Cut(mark)
			continue
		}
		count = i + 1
	}
	return nil
}
