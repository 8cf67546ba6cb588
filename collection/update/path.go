package update

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// kind is the kind of a component of an update path.
type kind uint8

const (
	named      kind = iota // a field, or a position in an array
	positional             // $: the position that the query matched
	all                    // $[]: every element
	filtered               // $[id]: the elements that an array filter matches
)

// step is one component of an update path.
type step struct {
	kind  kind
	name  string // as written; the identifier of a filtered step
	index int32  // the array position that a named step may denote, or -1
}

// fieldPath is the path of one operation.
type fieldPath struct {
	text  string
	steps []step
}

// parsePath splits and validates the path of an update operator. Manual: reference/operator/update/positional,
// positional-all, positional-filtered.
//
// Errors: EmptyFieldName, BadValue (misplaced positional operators), 9867600 (zero byte), Overflow (too long).
func parsePath(text string) (*fieldPath, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, mongoerr.New(9867600, "Field path contains a null byte: %q", text)
	}
	if strings.Count(text, ".") >= bson.MaxDepth {
		return nil, mongoerr.New(mongoerr.Overflow, "FieldPath is too long: more than %d components", bson.MaxDepth)
	}
	f := &fieldPath{text: text}
	dollars := 0
	for i, name := range strings.Split(text, ".") {
		s := step{name: name, index: -1}
		switch {
		case name == "":
			return nil, mongoerr.New(mongoerr.EmptyFieldName, "The update path '%s' contains an empty field name, which is not allowed.", text)
		case name == "$":
			s.kind = positional
			if dollars++; dollars > 1 {
				return nil, mongoerr.New(mongoerr.BadValue, "Too many positional (i.e. '$') elements found in path '%s'", text)
			}
		case name == "$[]":
			s.kind = all
		case strings.HasPrefix(name, "$[") && name[len(name)-1] == ']':
			s.kind, s.name = filtered, name[2:len(name)-1]
		default:
			s.index = path.Position(name)
		}
		if i == 0 && s.kind == positional {
			return nil, mongoerr.New(mongoerr.BadValue, "Cannot have positional (i.e. '$') element in the first position in path '%s'", text)
		}
		if i == 0 && s.kind != named {
			return nil, mongoerr.New(mongoerr.BadValue, "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '%s'", text)
		}
		f.steps = append(f.steps, s)
	}
	return f, nil
}

// isDynamic reports whether a component of the path, $, $[] or $[id], denotes array elements that depend on the
// document.
func (f *fieldPath) isDynamic() bool {
	for i := range f.steps {
		if f.steps[i].kind != named {
			return true
		}
	}
	return false
}

// static returns the part of the path before the first of the components $, $[] and $[id].
func (f *fieldPath) static() path.Path {
	names := make([]string, 0, len(f.steps))
	for i := range f.steps {
		if f.steps[i].kind != named {
			break
		}
		names = append(names, f.steps[i].name)
	}
	return path.Must(strings.Join(names, "."))
}
