package differential

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// unjudged is the value with which the evaluator panics if MongoDB's answer to a query is not certain; judged
// recovers it.
type unjudged struct{ why string }

// judged calls f, a computation of the evaluator, and returns its result; ok is false if the evaluator has no
// certain answer.
func judged[T any](f func() T) (out T, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(unjudged); !is {
				panic(r)
			}
			ok = false
		}
	}()
	return f(), true
}

// matches reports whether a decoded document matches a filter. It evaluates the filter in the most literal way,
// without code of the server.
func matches(doc bson.D, filter bson.D) bool { return collator(nil).matches(doc, filter) }

// matches evaluates a filter. c compares the strings.
func (c collator) matches(doc bson.D, filter bson.D) bool {
	for _, e := range filter {
		if !c.clause(doc, e) {
			return false
		}
	}
	return true
}

// clause evaluates one field of a filter.
func (c collator) clause(doc bson.D, e bson.E) bool {
	switch e.Key {
	case "$and":
		for _, f := range e.Value.(bson.A) {
			if !c.matches(doc, f.(bson.D)) {
				return false
			}
		}
		return true
	case "$or", "$nor":
		some := false
		for _, f := range e.Value.(bson.A) {
			some = some || c.matches(doc, f.(bson.D))
		}
		return some == (e.Key == "$or")
	case "$expr":
		return c.expression(doc, e.Value.(bson.D))
	case "$comment":
		return true
	}
	if strings.HasPrefix(e.Key, "$") {
		panic(unjudged{e.Key})
	}
	return c.field(doc, e.Key, e.Value)
}

// expression evaluates {$op: ["$field", constant]}, and an $and or $or of two such expressions, for a document; arrays
// are compared as a whole, and values of all types are compared.
func (c collator) expression(doc bson.D, e bson.D) bool {
	arguments, ok := e[0].Value.(bson.A)
	if !ok || len(arguments) != 2 {
		panic(unjudged{"an expression"})
	}
	switch e[0].Key {
	case "$and":
		return c.expression(doc, arguments[0].(bson.D)) && c.expression(doc, arguments[1].(bson.D))
	case "$or":
		return c.expression(doc, arguments[0].(bson.D)) || c.expression(doc, arguments[1].(bson.D))
	}
	path, ok := arguments[0].(string)
	if !ok || !strings.HasPrefix(path, "$") || strings.Contains(path, ".") {
		panic(unjudged{"an expression"})
	}
	if e[0].Key == "$in" {
		return slices.ContainsFunc(arguments[1].(bson.A), func(v any) bool { return c.compare(get(doc, path[1:]), v) == 0 })
	}
	return compared(e[0].Key, c.compare(get(doc, path[1:]), arguments[1]))
}

// compared returns the result of a comparison operator such as $lt, if c is the sign of the comparison of its
// operands.
func compared(operator string, c int) bool {
	switch operator {
	case "$eq":
		return c == 0
	case "$ne":
		return c != 0
	case "$lt":
		return c < 0
	case "$lte":
		return c <= 0
	case "$gt":
		return c > 0
	case "$gte":
		return c >= 0
	}
	panic(unjudged{operator})
}

// conditions returns the operators of a condition on a path.
func conditions(condition any) bson.D {
	operators, ok := condition.(bson.D)
	if !ok || len(operators) == 0 || !strings.HasPrefix(operators[0].Key, "$") {
		return bson.D{{Key: "$eq", Value: condition}}
	}
	return operators
}

// field evaluates a condition on one path.
func (c collator) field(doc bson.D, path string, condition any) bool {
	names := strings.Split(path, ".")
	operators := conditions(condition)
	for _, op := range operators {
		if op.Key == "$options" {
			continue
		}
		if op.Key == "$regex" {
			op = regexOf(op, operators)
		}
		if !c.operator(doc, names, op) {
			return false
		}
	}
	return true
}

// regexOf combines {$regex, $options} into one regular expression.
func regexOf(op bson.E, all bson.D) bson.E {
	if pattern, ok := op.Value.(string); ok {
		options, _ := get(all, "$options").(string)
		return bson.E{Key: "$eq", Value: bson.Regex{Pattern: pattern, Options: options}}
	}
	return bson.E{Key: "$eq", Value: op.Value}
}

// operator reports whether the values that a path reaches in a document meet one operator of a condition.
func (c collator) operator(doc bson.D, path []string, op bson.E) bool {
	with := func(key string, value any) bool { return c.operator(doc, path, bson.E{Key: key, Value: value}) }
	switch op.Key {
	case "$not":
		if r, ok := op.Value.(bson.Regex); ok {
			return !with("$eq", r)
		}
		return !c.field(doc, strings.Join(path, "."), op.Value)
	case "$ne":
		return !with("$eq", op.Value)
	case "$nin":
		return !with("$in", op.Value)
	case "$all":
		list := op.Value.(bson.A)
		for _, v := range list {
			if d, ok := v.(bson.D); ok && len(d) == 1 && d[0].Key == "$elemMatch" {
				if !c.operator(doc, path, d[0]) {
					return false
				}
			} else if !with("$eq", v) {
				return false
			}
		}
		return len(list) > 0
	case "$exists":
		some := false
		reach(doc, path, false, func(v any) {
			_, absent := v.(missing)
			some = some || !absent
		})
		return some == op.Value.(bool)
	}
	whole := op.Key == "$size" || op.Key == "$elemMatch"
	found := false
	reach(doc, path, !whole, func(v any) { found = found || c.holds(v, op) })
	return found
}

// reach calls yield with every value that a path reaches in v. Arrays on the way are entered, and a number in the
// path is also a position in them; an element at a position stays whole. If expand is set, the elements of an array
// at the end of the path are yielded, and then the array itself.
func reach(v any, path []string, expand bool, yield func(any)) {
	for len(path) > 0 {
		doc, ok := v.(bson.D)
		if !ok {
			break
		}
		v, path = get(doc, path[0]), path[1:]
	}
	a, ok := v.(bson.A)
	switch {
	case !ok && len(path) > 0:
		yield(missing{})
	case !ok:
		yield(v)
	default:
		reachInto(a, path, expand, yield)
	}
}

// reachInto is reach within an array.
func reachInto(a bson.A, path []string, expand bool, yield func(any)) {
	if len(path) == 0 {
		if expand {
			for _, e := range a {
				yield(e)
			}
		}
		yield(a)
		return
	}
	for i, e := range a {
		if _, ok := e.(bson.D); ok {
			reach(e, path, expand, yield)
		}
		if path[0] != strconv.Itoa(i) {
			continue
		}
		switch e := e.(type) {
		case bson.D:
			if len(path) == 1 {
				yield(e)
			} else {
				reach(e, path[1:], expand, yield)
			}
		case bson.A:
			if len(path) == 1 {
				yield(e)
			} else {
				reachInto(e, path[1:], expand, yield)
			}
		default:
			if len(path) == 1 {
				yield(e)
			}
		}
	}
}

// holds evaluates an operator on exactly one value.
func (c collator) holds(v any, op bson.E) bool {
	switch op.Key {
	case "$in":
		for _, candidate := range op.Value.(bson.A) {
			if c.holds(v, bson.E{Key: "$eq", Value: candidate}) {
				return true
			}
		}
		return false
	case "$size":
		a, ok := v.(bson.A)
		return ok && float64(len(a)) == number(op.Value)
	case "$elemMatch":
		a, ok := v.(bson.A)
		return ok && c.element(a, op.Value.(bson.D))
	case "$type":
		return isType(v, op.Value)
	case "$mod":
		return remainder(v, op.Value.(bson.A))
	case "$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear":
		return bits(v, op)
	case "$not":
		if r, ok := op.Value.(bson.Regex); ok {
			return !c.holds(v, bson.E{Key: "$eq", Value: r})
		}
		return !c.allHold(v, op.Value.(bson.D))
	case "$ne":
		return !c.holds(v, bson.E{Key: "$eq", Value: op.Value})
	case "$nin":
		return !c.holds(v, bson.E{Key: "$in", Value: op.Value})
	case "$exists":
		_, absent := v.(missing)
		return absent != op.Value.(bool)
	case "$all":
		for _, e := range op.Value.(bson.A) {
			if _, ok := e.(bson.D); ok || !c.holds(v, bson.E{Key: "$eq", Value: e}) {
				return false
			}
		}
		return len(op.Value.(bson.A)) > 0
	}
	return c.comparison(v, op)
}

// allHold reports whether all conditions hold for exactly one value.
func (c collator) allHold(v any, all bson.D) bool {
	for _, op := range all {
		if op.Key == "$options" {
			continue
		}
		if op.Key == "$regex" {
			op = regexOf(op, all)
		}
		if !c.holds(v, op) {
			return false
		}
	}
	return true
}

// comparison evaluates $eq, $lt and their like.
func (c collator) comparison(v any, op bson.E) bool {
	switch op.Key {
	case "$eq", "$lt", "$lte", "$gt", "$gte":
	default:
		panic(unjudged{op.Key})
	}
	switch operand := op.Value.(type) {
	case bson.MinKey, bson.MaxKey, bson.Undefined:
		panic(unjudged{"a comparison with " + js(operand)})
	case bson.Regex:
		if op.Key != "$eq" {
			panic(unjudged{"an order of regular expressions"})
		}
		switch v := v.(type) {
		case string, bson.Symbol:
			return compiled(operand).MatchString(asString(v))
		case bson.Regex:
			return v == operand
		}
		return false
	}
	if _, absent := v.(missing); absent {
		v = nil // $eq and the like treat a missing field as null
	}
	if rank(v) != rank(op.Value) {
		return false // comparisons stay within a type
	}
	if rank(v) == rank(nil) {
		return op.Key == "$eq" || op.Key == "$lte" || op.Key == "$gte"
	}
	if isNaN(v) != isNaN(op.Value) {
		return false
	}
	return compared(op.Key, c.compare(v, op.Value))
}

// isNaN reports whether a value is not a number.
func isNaN(v any) bool {
	f, ok := special(v)
	return ok && math.IsNaN(f)
}

// element reports whether one element of an array meets all the conditions, as $elemMatch requires.
func (c collator) element(a bson.A, all bson.D) bool {
	for _, e := range a {
		if len(all) > 0 && strings.HasPrefix(all[0].Key, "$") && all[0].Key != "$and" && all[0].Key != "$or" && all[0].Key != "$nor" {
			if c.allHold(e, all) {
				return true
			}
			continue
		}
		switch e := e.(type) {
		case bson.D:
			if c.matches(e, all) {
				return true
			}
		case bson.A:
			if c.matches(named(e), all) {
				return true
			}
		}
	}
	return false
}

// named returns an array as a document whose field names are the positions of the elements.
func named(a bson.A) bson.D {
	out := bson.D{}
	for i, e := range a {
		out = append(out, bson.E{Key: strconv.Itoa(i), Value: e})
	}
	return out
}

// compiled returns a regular expression that the generator draws as one of Go's package regexp, where it has the
// same meaning.
func compiled(r bson.Regex) *regexp.Regexp {
	flags := ""
	if strings.Contains(r.Options, "i") {
		flags = "(?i)"
	}
	return regexp.MustCompile(flags + r.Pattern)
}

// isType evaluates $type.
func isType(v, want any) bool {
	if list, ok := want.(bson.A); ok {
		for _, w := range list {
			if isType(v, w) {
				return true
			}
		}
		return false
	}
	if _, absent := v.(missing); absent {
		return false
	}
	name := typeOf(v)
	return want == name || want == "number" && slices.Contains([]string{"int", "long", "double", "decimal"}, name)
}

// typeOf returns the alias of a value's type. Manual: reference/bson-types
func typeOf(v any) string {
	switch v.(type) {
	case int32:
		return "int"
	case int64:
		return "long"
	case float64:
		return "double"
	case bson.Decimal128:
		return "decimal"
	case string:
		return "string"
	case bson.D:
		return "object"
	case bson.A:
		return "array"
	case nil, bson.Null:
		return "null"
	case bson.Undefined:
		return "undefined"
	case bool:
		return "bool"
	case bson.DateTime:
		return "date"
	case bson.ObjectID:
		return "objectId"
	case bson.Binary:
		return "binData"
	case bson.Regex:
		return "regex"
	case bson.Timestamp:
		return "timestamp"
	case bson.Symbol:
		return "symbol"
	case bson.MinKey:
		return "minKey"
	case bson.MaxKey:
		return "maxKey"
	}
	panic(unjudged{"a type"})
}

// remainder evaluates $mod with whole arguments.
func remainder(v any, arguments bson.A) bool {
	if rank(v) != rank(int32(0)) {
		return false
	}
	if _, ok := special(v); ok {
		return false
	}
	f := math.Trunc(number(v))
	if math.Abs(f) > 1<<53 {
		panic(unjudged{"the remainder of a large number"})
	}
	return int64(f)%int64(number(arguments[0])) == int64(number(arguments[1]))
}

// bits evaluates $bitsAllSet and its like with a mask.
func bits(v any, op bson.E) bool {
	if _, ok := v.(bson.Binary); ok {
		panic(unjudged{"bits of binary data"})
	}
	if rank(v) != rank(int32(0)) {
		return false
	}
	if _, ok := v.(bson.Decimal128); ok {
		panic(unjudged{"bits of a decimal"})
	}
	if _, ok := special(v); ok {
		return false
	}
	f := number(v)
	if f != math.Trunc(f) {
		return false
	}
	if math.Abs(f) > 1<<53 {
		panic(unjudged{"bits of a large number"})
	}
	n, mask := int64(f), int64(number(op.Value))
	switch op.Key {
	case "$bitsAllSet":
		return n&mask == mask
	case "$bitsAnySet":
		return n&mask != 0
	case "$bitsAllClear":
		return n&mask == 0
	}
	return ^n&mask != 0
}
