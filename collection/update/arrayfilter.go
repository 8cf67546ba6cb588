package update

import (
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// arrayFilter is a condition on array elements that the path component $[id] names. It is a filter on the document
// {id: element}. Manual: reference/operator/update/positional-filtered.
type arrayFilter struct {
	id     string
	filter match.Node
}

// arrayFilters reads the option arrayFilters of an update: the conditions on array elements that paths name by
// $[id].
//
// Errors: FailedToParse, BadValue, QueryFeatureNotAllowed for $expr, 5626500 for $near, the errors of match.Parse.
func (p *parser) arrayFilters(list []bson.Raw) error {
	for _, doc := range list {
		id, err := identifier(doc, "")
		if err != nil {
			return err
		}
		if id == "" {
			return mongoerr.New(mongoerr.FailedToParse, "Cannot use an expression without a top-level field name in arrayFilters")
		}
		if !validIdentifier(id) {
			return mongoerr.New(mongoerr.BadValue,
				"Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '%s'", id)
		}
		if p.filterOf(id) >= 0 {
			return mongoerr.New(mongoerr.FailedToParse, "Found multiple array filters with the same top-level field name %s", id)
		}
		n, err := match.Parse(p.env, doc)
		if err == nil && match.Features(n)&match.UsesNear != 0 {
			err = mongoerr.New(5626500, "$geoNear, $near, and $nearSphere are not allowed in this context")
		}
		if err != nil {
			return err
		}
		p.p.filters = append(p.p.filters, arrayFilter{id, n})
	}
	p.used = make([]bool, len(list))
	return nil
}

// identifier returns the id of an array filter, the name with which the paths of all its conditions begin; id is the
// name found so far, "" for none. Errors: FailedToParse if they begin with different names; QueryFeatureNotAllowed
// for $expr, BadValue for $text and $where.
func identifier(filter bson.Raw, id string) (string, error) {
	for it := filter.Iter(); it.Next(); {
		name := string(it.Name)
		switch name {
		case "$and", "$or", "$nor":
			list, _ := it.Value.Array()
			for v := range list.Values() {
				d, ok := v.Doc()
				if !ok {
					continue // match.Parse reports the error
				}
				var err error
				if id, err = identifier(d, id); err != nil {
					return "", err
				}
			}
			continue
		case "$expr":
			return "", mongoerr.New(mongoerr.QueryFeatureNotAllowed, "$expr is not allowed in this context")
		case "$text", "$where":
			return "", mongoerr.New(mongoerr.BadValue, "%s is not allowed in this context", name)
		}
		if len(name) > 0 && name[0] == '$' {
			continue
		}
		for i := range len(name) {
			if name[i] == '.' {
				name = name[:i]
				break
			}
		}
		if id != "" && id != name {
			return "", mongoerr.New(mongoerr.FailedToParse,
				"Error parsing array filter :: caused by :: Expected a single top-level field name, found '%s' and '%s'", id, name)
		}
		id = name
	}
	return id, nil
}

func validIdentifier(id string) bool {
	for i := range len(id) {
		c := id[i]
		lower := c >= 'a' && c <= 'z'
		if !lower && (i == 0 || !(c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')) {
			return false
		}
	}
	return id != ""
}

// filterOf returns the index of the array filter for $[id], -1 if the update has none of this id.
func (p *parser) filterOf(id string) int {
	for i := range p.p.filters {
		if p.p.filters[i].id == id {
			return i
		}
	}
	return -1
}

func (p *parser) useFilter(id, at string) error {
	i := p.filterOf(id)
	if i < 0 {
		return mongoerr.New(mongoerr.BadValue, "No array filter found for identifier '%s' in path '%s'", id, at)
	}
	p.used[i] = true
	return nil
}

func (p *parser) unusedFilters(doc bson.Raw) error {
	for i, used := range p.used {
		if !used {
			return mongoerr.New(mongoerr.FailedToParse, "The array filter for identifier '%s' was not used in the update %s", p.p.filters[i].id, doc)
		}
	}
	return nil
}

// admits reports whether v matches the array filter i.
func (a *applier) admits(i int, v bson.Value) (bool, error) {
	f := &a.p.filters[i]
	w := append(a.wrapper[:0], 0, 0, 0, 0, byte(v.Type))
	w = append(append(w, f.id...), 0)
	w = append(append(w, v.Data...), 0)
	binary.LittleEndian.PutUint32(w, uint32(len(w)))
	a.wrapper = w
	return f.filter.Matches(a.env, bson.Raw(w), a.s)
}
