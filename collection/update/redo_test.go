package update_test

import (
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/update"
)

// redo returns doc after the changes of an updateDescription, as a reader of a change stream would apply it: it cuts
// arrays, removes fields and sets the others to their new values. It fills the gap before an element far beyond the
// end of its array with nulls.
func redo(doc bson.Raw, d *update.Delta) bson.Raw {
	b := bson.NewBuilder(nil)
	d.Append(b)
	trails, _ := b.Doc().Get("disambiguatedPaths").Doc()
	root := &place{value: doc.Value()}
	for _, t := range d.Truncated {
		p := root.at(names(t.Path, trails))
		p.open()
		p.inside = p.inside[:t.Size]
	}
	for _, path := range d.Removed {
		all := names(path, trails)
		p := root.at(all[:len(all)-1])
		p.open()
		for i := range p.inside {
			if p.inside[i].name == all[len(all)-1] {
				p.inside = append(p.inside[:i:i], p.inside[i+1:]...)
				break
			}
		}
	}
	for _, c := range d.Updated {
		*root.at(names(c.Path, trails)) = place{value: c.Value}
	}
	out := bson.NewBuilder(nil)
	for i := range root.inside {
		root.inside[i].append(out, root.inside[i].name)
	}
	if !root.opened {
		return doc
	}
	return out.Doc()
}

func names(path string, trails bson.Raw) (all []string) {
	trail, ok := trails.Get(path).Array()
	if !ok {
		return strings.Split(path, ".")
	}
	for v := range trail.Values() {
		if i, ok := v.Int32(); ok {
			all = append(all, strconv.Itoa(int(i)))
		} else {
			s, _ := v.Str()
			all = append(all, s)
		}
	}
	return all
}

// place is a value that can be changed inside.
type place struct {
	value  bson.Value
	opened bool
	inside []named
}

type named struct {
	name string
	*place
}

func (p *place) open() {
	if p.opened {
		return
	}
	p.opened = true
	for it := bson.Raw(p.value.Data).Iter(); it.Next(); {
		p.inside = append(p.inside, named{string(it.Name), &place{value: it.Value}})
	}
}

// at finds or makes the place of a path.
func (p *place) at(path []string) *place {
	if len(path) == 0 {
		return p
	}
	p.open()
	for _, f := range p.inside {
		if f.name == path[0] {
			return f.at(path[1:])
		}
	}
	if p.value.Type == bson.TypeArray {
		n, _ := strconv.Atoi(path[0])
		for len(p.inside) < n {
			p.inside = append(p.inside, named{strconv.Itoa(len(p.inside)), &place{value: bson.Null}})
		}
	}
	fresh := &place{}
	p.inside = append(p.inside, named{path[0], fresh})
	return fresh.at(path[1:])
}

func (p *place) append(b *bson.Builder, name string) {
	switch {
	case !p.opened:
		b.Value(name, p.value)
		return
	case p.value.Type == bson.TypeArray:
		b.BeginNamedArray([]byte(name))
	default:
		b.BeginDoc(name)
	}
	for _, f := range p.inside {
		f.append(b, f.name)
	}
	b.End()
}
