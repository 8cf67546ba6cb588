package project

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Stages are the names of the stages that ParseStage supports, in alphabetical order.
var Stages = [...]string{"$addFields", "$project", "$replaceRoot", "$replaceWith", "$set", "$unset"}

// ParseStage parses spec, the argument of the pipeline stage name, one of Stages.
//
// Errors: 40324 for another name; the errors of ParseFind; 40176 for colliding paths of $set, 40229 and others by
// number for arguments of the wrong type.
func ParseStage(env *mql.Env, name string, spec bson.Value) (Transform, error) {
	spec = spec.Clone()
	switch name {
	case "$project":
		return parseProject(env, spec)
	case "$addFields", "$set":
		return parseAddFields(env, name, spec)
	case "$unset":
		return parseUnset(spec)
	case "$replaceRoot":
		return parseReplaceRoot(env, spec)
	case "$replaceWith":
		return newReplaceRoot(env, spec)
	}
	return nil, mongoerr.New(40324, "Unrecognized pipeline stage name: '%s'", name)
}

// parseProject reads $project. Manual: reference/operator/aggregation/project.
func parseProject(env *mql.Env, spec bson.Value) (Transform, error) {
	d, ok := spec.Doc()
	switch {
	case !ok:
		return nil, mongoerr.New(15969, "$project specification must be an object")
	case d.IsEmpty():
		return nil, mongoerr.New(51272, "Invalid $project :: caused by :: projection specification must have at least one field")
	}
	p := parser{env: env, root: &tree{}}
	t, err := p.parse(d)
	return t, caused("$project", err)
}

// parseUnset parses the argument of the stage $unset: a path or an array of paths.
// Manual: reference/operator/aggregation/unset.
func parseUnset(spec bson.Value) (Transform, error) {
	list := []bson.Value{spec}
	if arr, ok := spec.Array(); ok {
		if arr.IsEmpty() {
			return nil, mongoerr.New(31119, "$unset specification must be a string or an array with at least one field")
		}
		list = list[:0]
		for v := range arr.Values() {
			if v.Type != bson.TypeString {
				return nil, mongoerr.New(31120, "$unset specification must be a string or an array containing only string values")
			}
			list = append(list, v)
		}
	} else if spec.Type != bson.TypeString {
		return nil, mongoerr.New(31002, "$unset specification must be a string or an array")
	}
	var paths []string
	for _, v := range list {
		path, _ := v.Str()
		if strings.IndexByte(path, 0) >= 0 {
			return nil, mongoerr.New(9527900, "$unset specification field path may not contain a null byte")
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		if err := checkPath(path); err != nil {
			return nil, caused("$unset", err)
		}
	}
	root := &tree{kind: Exclusion}
	source := bson.NewBuilder(nil)
	for _, path := range paths {
		if err := root.add(path, path, child{act: drop}); err != nil {
			return nil, caused("$unset", err)
		}
		source.Bool(path, false)
	}
	root.seal()
	return &projection{tree: root, source: source.Doc()}, nil
}

// caused prefixes the text of an error, as stages do.
func caused(stage string, err error) error {
	if err == nil {
		return nil
	}
	return mongoerr.From(err).Prefix("Invalid %s :: caused by :: ", stage)
}

// parseAddFields reads $addFields and $set.
// Manual: reference/operator/aggregation/addFields.
func parseAddFields(env *mql.Env, stage string, spec bson.Value) (Transform, error) {
	d, ok := spec.Doc()
	if !ok {
		return nil, mongoerr.New(40272, "%s specification stage must be an object, got %s", stage, spec.Type)
	}
	root := &tree{kind: Addition}
	for it := d.Iter(); it.Next(); {
		path := string(it.Name)
		err := checkPath(path)
		if err == nil {
			err = addComputed(env, root, path, it.Value)
		}
		if err != nil {
			return nil, caused(stage, err)
		}
	}
	root.seal()
	return &projection{tree: root, source: d}, nil
}

// addComputed adds a computed field of the stage $addFields to the tree. A document that is no expression is
// expanded to its fields, so that {a: {b: 1}} does not change a.c.
func addComputed(env *mql.Env, root *tree, path string, v bson.Value) error {
	d, ok := v.Doc()
	if ok && !d.IsEmpty() && !strings.HasPrefix(firstName(d), "$") {
		for it := d.Iter(); it.Next(); {
			name := string(it.Name)
			switch {
			case strings.HasPrefix(name, "$"):
				return mongoerr.New(40181, "an object representing an expression must have exactly one field")
			case strings.Contains(name, "."):
				return mongoerr.New(40183, "FieldPath field names may not contain '.' in a nested object")
			}
			if err := checkPath(name); err != nil {
				return err
			}
			if err := addComputed(env, root, path+"."+name, it.Value); err != nil {
				return err
			}
		}
		return nil
	}
	if ok && d.Len() > 1 {
		return mongoerr.New(40181, "an object representing an expression must have exactly one field")
	}
	e, err := expr.Parse(env, v)
	if err != nil {
		return err
	}
	if root.add(path, path, child{act: compute, expr: e}) != nil {
		return mongoerr.New(40176, "specification contains two conflicting paths. Cannot specify both '%s' and a path that contains it or lies within it", path)
	}
	return nil
}
