package path

import (
	"errors"
	"strings"
)

// ErrZeroByte is the error for a path that contains a zero byte, which no field name can.
var ErrZeroByte = errors.New("field path contains a zero byte")

// Component is one name of a dotted path.
type Component struct {
	Name string
	// Index is the array position that Name can denote ("0", "17"), or -1. Only canonical decimal text of at most
	// nine digits counts: "00" and "+1" are plain names.
	Index int32
}

// Path is a compiled dotted path. The zero Path has no components. Paths are
// immutable and safe for concurrent use.
type Path struct {
	text  string
	parts []Component
}

// Compile splits a dotted path into its components. Empty components are kept ("a..b" has three): queries accept
// them and find nothing unless a field is named "", while aggregation and updates reject them (see HasEmpty).
//
// Errors: ErrZeroByte.
func Compile(s string) (Path, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return Path{}, ErrZeroByte
	}
	return split(s), nil
}

// Must is Compile for constant paths.
func Must(s string) Path {
	p, err := Compile(s)
	if err != nil {
		panic("BUG: path " + s)
	}
	return p
}

func split(s string) Path {
	parts := make([]Component, 0, strings.Count(s, ".")+1)
	for rest := s; ; {
		name, tail, more := strings.Cut(rest, ".")
		parts = append(parts, Component{name, Position(name)})
		if !more {
			return Path{s, parts}
		}
		rest = tail
	}
}

// String returns the dotted text.
func (p Path) String() string { return p.text }

// Len returns the number of components.
func (p Path) Len() int { return len(p.parts) }

// Components returns all components, which the caller must not change.
func (p Path) Components() []Component { return p.parts }

// Component returns the i-th component.
func (p Path) Component(i int) Component { return p.parts[i] }

// Name returns the name of the i-th component.
func (p Path) Name(i int) string { return p.parts[i].Name }

// First returns the name of the first component: the top-level field.
func (p Path) First() string {
	if len(p.parts) == 0 {
		return ""
	}
	return p.parts[0].Name
}

// Last returns the name of the last component.
func (p Path) Last() string {
	if len(p.parts) == 0 {
		return ""
	}
	return p.parts[len(p.parts)-1].Name
}

// Equal reports whether the components are equal.
func (p Path) Equal(q Path) bool { return p.text == q.text && len(p.parts) == len(q.parts) }

// HasPrefix reports whether the path q equals p or is an ancestor of p: "a.b" has the prefixes "a" and "a.b", not
// "a.bc"; "a.b.c" has "a.b". Every path has the zero Path as a prefix.
func (p Path) HasPrefix(q Path) bool {
	if len(q.parts) > len(p.parts) {
		return false
	}
	if len(q.parts) == 0 || len(q.parts) == len(p.parts) {
		return len(q.parts) == 0 || p.text == q.text
	}
	n := len(q.text)
	return len(p.text) > n && p.text[n] == '.' && p.text[:n] == q.text
}

// Conflicts reports whether one of the paths is a prefix of the other: an update or a projection cannot
// contain both.
func (p Path) Conflicts(q Path) bool { return p.HasPrefix(q) || q.HasPrefix(p) }

// Prefix returns the first n components.
func (p Path) Prefix(n int) Path {
	if n <= 0 {
		return Path{}
	}
	if n >= len(p.parts) {
		return p
	}
	end := n - 1
	for _, c := range p.parts[:n] {
		end += len(c.Name)
	}
	return Path{p.text[:end], p.parts[:n:n]}
}

// Suffix returns the components from the n-th on.
func (p Path) Suffix(n int) Path {
	if n <= 0 {
		return p
	}
	if n >= len(p.parts) {
		return Path{}
	}
	start := n
	for _, c := range p.parts[:n] {
		start += len(c.Name)
	}
	return Path{p.text[start:], p.parts[n:]}
}

// Parent returns the path without its last component; for at most one component, the zero Path.
func (p Path) Parent() Path { return p.Prefix(len(p.parts) - 1) }

// Child returns the path extended by a dotted text.
func (p Path) Child(s string) Path {
	if len(p.parts) == 0 {
		return split(s)
	}
	return split(p.text + "." + s)
}

// HasEmpty reports whether a component is empty, as in "a..b", ".a", "a." and "".
func (p Path) HasEmpty() bool {
	for _, c := range p.parts {
		if c.Name == "" {
			return true
		}
	}
	return false
}
