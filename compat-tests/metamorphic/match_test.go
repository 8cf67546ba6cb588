package metamorphic

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// matches evaluates a filter on a decoded document, in the most literal way.
func matches(doc bson.D, filter bson.D) bool {
	for _, e := range filter {
		switch e.Key {
		case "$and":
			for _, f := range e.Value.(bson.A) {
				if !matches(doc, f.(bson.D)) {
					return false
				}
			}
		case "$or", "$nor":
			some := false
			for _, f := range e.Value.(bson.A) {
				some = some || matches(doc, f.(bson.D))
			}
			if some != (e.Key == "$or") {
				return false
			}
		case "$expr":
			if !expression(doc, e.Value.(bson.D)) {
				return false
			}
		default:
			if !field(doc, e.Key, e.Value) {
				return false
			}
		}
	}
	return true
}

// expression evaluates {$op: ["$field", constant]}: no arrays entered, all types compared.
func expression(doc bson.D, e bson.D) bool {
	arguments := e[0].Value.(bson.A)
	c := compare(get(doc, strings.TrimPrefix(arguments[0].(string), "$")), arguments[1])
	return compared(e[0].Key, c)
}

// compared turns the result of a comparison into the answer of an operator.
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
	panic("operator " + operator)
}

// field evaluates a condition on one path.
func field(doc bson.D, path string, condition any) bool {
	operators, ok := condition.(bson.D)
	if !ok || len(operators) == 0 || !strings.HasPrefix(operators[0].Key, "$") {
		operators = bson.D{{Key: "$eq", Value: condition}}
	}
	values := reach(doc, strings.Split(path, "."))
	for _, op := range operators {
		if !one(doc, path, values, op) {
			return false
		}
	}
	return true
}

// one evaluates one operator on the values a path reaches.
func one(doc bson.D, path string, values []any, op bson.E) bool {
	switch op.Key {
	case "$not":
		return !field(doc, path, op.Value)
	case "$ne":
		return !one(doc, path, values, bson.E{Key: "$eq", Value: op.Value})
	case "$nin":
		return !one(doc, path, values, bson.E{Key: "$in", Value: op.Value})
	case "$all":
		for _, v := range op.Value.(bson.A) {
			if !one(doc, path, values, bson.E{Key: "$eq", Value: v}) {
				return false
			}
		}
		return true
	case "$exists":
		some := false
		for _, v := range values {
			_, absent := v.(missing)
			some = some || !absent
		}
		return some == op.Value.(bool)
	case "$size":
		for _, v := range values {
			if a, ok := v.(bson.A); ok && len(a) == int(number(op.Value)) {
				return true
			}
		}
		return false
	case "$elemMatch":
		for _, v := range values {
			if a, ok := v.(bson.A); ok && element(a, op.Value.(bson.D)) {
				return true
			}
		}
		return false
	}
	// The rest asks for one value that holds: the value itself or, of an array, an element.
	for _, v := range values {
		if holds(v, op) {
			return true
		}
		if a, ok := v.(bson.A); ok {
			for _, e := range a {
				if holds(e, op) {
					return true
				}
			}
		}
	}
	return false
}

// element reports whether an element of an array meets all conditions at once.
func element(a bson.A, conditions bson.D) bool {
	for _, e := range a {
		all := true
		if strings.HasPrefix(conditions[0].Key, "$") {
			for _, op := range conditions {
				all = all && holds(e, op)
			}
		} else {
			doc, ok := e.(bson.D)
			all = ok && matches(doc, conditions)
		}
		if all {
			return true
		}
	}
	return false
}

// holds evaluates an operator on exactly one value.
func holds(v any, op bson.E) bool {
	switch op.Key {
	case "$in":
		for _, candidate := range op.Value.(bson.A) {
			if holds(v, bson.E{Key: "$eq", Value: candidate}) {
				return true
			}
		}
		return false
	case "$mod":
		if rank(v) != 2 {
			return false
		}
		arguments := op.Value.(bson.A)
		return int64(number(v))%int64(number(arguments[0])) == int64(number(arguments[1]))
	case "$regex":
		s, ok := v.(string)
		return ok && strings.HasPrefix(s, strings.TrimPrefix(op.Value.(string), "^"))
	}
	if _, absent := v.(missing); absent {
		v = nil // for equality a missing field is null
	}
	// Comparisons stay within a type.
	return rank(v) == rank(op.Value) && compared(op.Key, compare(v, op.Value))
}
