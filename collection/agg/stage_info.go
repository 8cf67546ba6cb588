package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// placesOfInfo are the places where stages that show the server itself, such as $currentOp, are not allowed.
const placesOfInfo = InFacet | InTransaction | InUpdate

// Constraints of the stages that show the server itself, by whether they describe a collection, a database or
// the server. A stage with other constraints has them in its own definition.
var (
	ofCollection = Constraints{First: true, Source: true, NotIn: placesOfInfo}
	onDatabase   = Constraints{First: true, Source: true, NotIn: placesOfInfo, NoView: mongoerr.InvalidNamespace, Collectionless: true}
	onAdmin      = Constraints{First: true, Source: true, NotIn: placesOfInfo, NoView: mongoerr.InvalidNamespace, Collectionless: true, AdminOnly: true}
)

// infoStage is a stage that shows the server itself, such as $indexStats. The Opener makes its rows.
type infoStage struct {
	name string
	ns   collection.Namespace
	arg  bson.Raw
	c    Constraints
}

// infoArgs is the validated argument of a stage that shows the server: each field occurs once and has the
// expected type.
type infoArgs struct{ doc bson.Raw }

func (infoArgs) mentioned() Mentioned { return Mentioned{} }

// info returns the definition of a stage that shows the server. check validates its argument.
func info(d StageDef, check func(bson.Value) error) StageDef {
	return reading(d, func(arg bson.Value) (infoArgs, error) {
		doc, ok := arg.Doc()
		if !ok {
			doc = bson.Empty
		}
		return infoArgs{doc}, check(arg)
	}, func(p *parser, a infoArgs) ([]Stage, error) {
		return []Stage{&infoStage{d.Name, p.ns, a.doc, d.Constraints}}, nil
	})
}

func (s *infoStage) Name() string             { return s.name }
func (s *infoStage) Constraints() Constraints { return s.c }
func (s *infoStage) Split() Split             { return merged(s) }
func (s *infoStage) Append(b *bson.Builder)   { b.Raw(s.name, s.arg) }
func (s *infoStage) Reads(func(string)) bool  { return true }

func (s *infoStage) Open(env *mql.Env, _ exec.Operator, o Opener) (exec.Operator, error) {
	in, err := o.Info(env, s.ns, s.name, s.arg)
	if err != nil {
		return nil, err
	}
	return &passOp{base{in: in, stage: s}}, nil
}

// checkEmpty rejects everything but an empty object.
func checkEmpty(name string, code mongoerr.Code) func(bson.Value) error {
	return func(v bson.Value) error {
		if d, ok := v.Doc(); !ok || !d.IsEmpty() {
			return mongoerr.New(code, "The %s stage specification must be an empty object", name)
		}
		return nil
	}
}

// option is a field of an argument and its type.
type option struct {
	name string
	t    bson.Type
}

// checkOptions validates the names and types of the fields of a stage's argument; unknown is the error code for
// another field. Null is accepted for every type, and any value for TypeMissing.
func checkOptions(stage string, d bson.Raw, unknown mongoerr.Code, options ...option) error {
next:
	for it := d.Iter(); it.Next(); {
		for _, o := range options {
			if o.name != string(it.Name) {
				continue
			}
			if o.t != it.Value.Type && o.t != bson.TypeMissing && it.Value.Type != bson.TypeNull {
				return mongoerr.WrongType(stage+"."+o.name, it.Value.Type.String(), o.t.String())
			}
			continue next
		}
		return mongoerr.New(unknown, "BSON field '%s.%s' is an unknown field.", stage, it.Name)
	}
	return nil
}
