package differential

import (
	"reflect"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// updated returns a copy of a document after an update, as the model expects it. The generator draws only updates
// that cannot fail.
func updated(doc bson.D, update bson.D) bson.D {
	doc = clone(doc).(bson.D)
	// An update adds new fields in the order of their names, whatever the order of its operators. Manual:
	// reference/operator/update (behavior)
	update = slices.Clone(update)
	slices.SortStableFunc(update, func(a, b bson.E) int { return strings.Compare(target(a), target(b)) })
	for _, op := range update {
		e := op.Value.(bson.D)[0]
		doc = modified(doc, op.Key, strings.Split(e.Key, "."), clone(e.Value))
	}
	return doc
}

// target returns the path that an operator writes.
func target(op bson.E) string {
	e := op.Value.(bson.D)[0]
	if op.Key == "$rename" {
		return e.Value.(string)
	}
	return e.Key
}

// modified applies one operator at a path.
func modified(doc bson.D, operator string, path []string, argument any) bson.D {
	i := slices.IndexFunc(doc, func(e bson.E) bool { return e.Key == path[0] })
	if len(path) > 1 {
		child := bson.D{}
		if i >= 0 {
			child = doc[i].Value.(bson.D)
		} else if operator == "$unset" || operator == "$pull" {
			return doc
		}
		child = modified(child, operator, path[1:], argument)
		return put(doc, path[0], child)
	}
	if operator == "$rename" {
		if i < 0 {
			return doc
		}
		value := doc[i].Value
		doc = slices.Delete(doc, i, i+1)
		// A target that exists is replaced in its position.
		return put(doc, argument.(string), value)
	}
	if i < 0 {
		return created(doc, operator, path[0], argument)
	}
	old := doc[i].Value
	switch operator {
	case "$set":
		doc[i].Value = argument
	case "$unset":
		doc = slices.Delete(doc, i, i+1)
	case "$inc":
		doc[i].Value = changed(old, arithmetic(old, argument, func(a, b float64) float64 { return a + b }))
	case "$mul":
		doc[i].Value = changed(old, arithmetic(old, argument, func(a, b float64) float64 { return a * b }))
	case "$min":
		if compare(argument, old) < 0 {
			doc[i].Value = argument
		}
	case "$max":
		if compare(argument, old) > 0 {
			doc[i].Value = argument
		}
	case "$push":
		doc[i].Value = append(old.(bson.A), argument)
	case "$addToSet":
		if !slices.ContainsFunc(old.(bson.A), func(v any) bool { return compare(v, argument) == 0 }) {
			doc[i].Value = append(old.(bson.A), argument)
		}
	case "$pull":
		doc[i].Value = slices.DeleteFunc(old.(bson.A), func(v any) bool { return compare(v, argument) == 0 })
	default:
		panic("operator " + operator)
	}
	return doc
}

// created applies an operator to an absent field.
func created(doc bson.D, operator, name string, argument any) bson.D {
	switch operator {
	case "$set", "$inc", "$min", "$max":
		return append(doc, bson.E{Key: name, Value: argument})
	case "$mul":
		return append(doc, bson.E{Key: name, Value: arithmetic(argument, int32(0), func(a, b float64) float64 { return a * b })})
	case "$push", "$addToSet":
		return append(doc, bson.E{Key: name, Value: bson.A{argument}})
	}
	return doc
}

// changed returns the new value of a field, or the old one if both are equal numbers of the same type: then the
// server writes nothing, which can be seen if one is 0.0 and the other -0.0.
func changed(old, new any) any {
	if reflect.TypeOf(old) == reflect.TypeOf(new) && number(old) == number(new) {
		return old
	}
	return new
}

// arithmetic applies f to two numbers. The result has the wider of their types, and an int32 that overflows becomes
// an int64.
func arithmetic(a, b any, f func(a, b float64) float64) any {
	x := f(number(a), number(b))
	_, aDouble := a.(float64)
	_, bDouble := b.(float64)
	_, aLong := a.(int64)
	_, bLong := b.(int64)
	switch {
	case aDouble || bDouble:
		return x
	case aLong || bLong || float64(int32(x)) != x:
		return int64(x)
	}
	return int32(x)
}

// clone copies a value deeply.
func clone(v any) any {
	switch v := v.(type) {
	case bson.D:
		out := make(bson.D, len(v))
		for i, e := range v {
			out[i] = bson.E{Key: e.Key, Value: clone(e.Value)}
		}
		return out
	case bson.A:
		out := make(bson.A, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}
