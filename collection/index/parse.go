package index

import (
	"math"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// ParseSpec validates an index specification: an element of createIndexes' indexes array, or the output of
// Spec.Append. Obsolete fields such as ns are dropped. The Spec keeps no reference to the bytes.
// Manual: reference/command/createIndexes.
//
// Errors: FailedToParse (no key, no name), CannotCreateIndex (bad key pattern or option),
// InvalidIndexSpecificationOption (an unknown option, or one that the _id index cannot have), TypeMismatch,
// BadValue, InvalidOptions, the errors of match.Parse and mql.ParseCollation, and numbered codes of single kinds.
func ParseSpec(env *mql.Env, spec bson.Raw) (*Spec, error) {
	return parseSpec(env, spec, false, mql.ParseCollation)
}

// ParseStoredSpec is ParseSpec for an index specification from a catalog, or made from one. by is the version of the
// rules of its collation, see mql.ParseStoredCollation.
func ParseStoredSpec(env *mql.Env, spec bson.Raw, by mql.CollatorVersion) (*Spec, error) {
	return parseSpec(env, spec, true, func(v bson.Value) (*mql.Collation, error) { return mql.ParseStoredCollation(v, by) })
}

func parseSpec(env *mql.Env, spec bson.Raw, stored bool, collation func(bson.Value) (*mql.Collation, error)) (*Spec, error) {
	p := parser{env: env, raw: spec.Clone(), stored: stored, s: &Spec{}, version: 2, collation: collation}
	if name, twice := p.raw.Repeated(); twice {
		return nil, mongoerr.RepeatedField("createIndexes.indexes" + "." + string(name))
	}
	for it := p.raw.Iter(); it.Next(); {
		if err := p.option(string(it.Name), it.Value); err != nil {
			return nil, err
		}
	}
	switch {
	case p.s.Key == nil:
		return nil, mongoerr.New(mongoerr.FailedToParse, "The 'key' field is a required property of an index specification")
	case !p.hasName:
		return nil, mongoerr.New(mongoerr.FailedToParse, "The 'name' field is a required property of an index specification")
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	p.s.Version = int32(p.version)
	p.s.print = p.printed()
	projection, _ := p.raw.Get("wildcardProjection").Doc() // it is parsed into two trees
	p.s.Held = specHeld + int64(len(p.raw))*byteHeld + mql.ParsedHeld(p.raw) + mql.ParsedHeld(projection)
	return p.s, nil
}

// specHeld and byteHeld are upper bounds of the heap bytes of an index specification and of each byte of its BSON.
const specHeld, byteHeld = 1 << 10, 4

// parser collects the options before their combination is checked.
type parser struct {
	env     *mql.Env
	raw     bson.Raw
	stored  bool // raw is from a catalog, or made from one
	s       *Spec
	version int64
	hasName bool
	// Options of single kinds, as given.
	weights, defaultLanguage, languageOverride, textVersion bson.Value
	sphereVersion, coarsest, finest, bits, min, max         bson.Value
	projection                                              bson.Value
	collation                                               func(bson.Value) (*mql.Collation, error)
}

// cannot returns the error of most bad specifications.
func cannot(format string, args ...any) error {
	return mongoerr.New(mongoerr.CannotCreateIndex, format, args...)
}

// switches returns a pointer to the boolean option name of the parsed index; ok is false for other options. A client
// may also send a number. at is nil for obsolete options, which have no effect.
func (p *parser) switches(name string) (at *bool, ok bool) {
	switch name {
	case "unique":
		return &p.s.Unique, true
	case "sparse":
		return &p.s.Sparse, true
	case "prepareUnique":
		return &p.s.PrepareUnique, true
	case "clustered":
		return &p.s.Clustered, true
	case LastWriteOption:
		return &p.s.LastWrite, true
	case "background", "dropDups", "disallowNewDuplicateKeys":
		return nil, true
	}
	return nil, false
}

// numbers returns a pointer to the numeric option name, of geospatial and text indexes, in the parser; ok is false
// for other options. at is nil for bucketSize, which has no effect.
func (p *parser) numbers(name string) (at *bson.Value, ok bool) {
	switch name {
	case "textIndexVersion":
		return &p.textVersion, true
	case "2dsphereIndexVersion":
		return &p.sphereVersion, true
	case "bits":
		return &p.bits, true
	case "min":
		return &p.min, true
	case "max":
		return &p.max, true
	case "finestIndexedLevel":
		return &p.finest, true
	case "coarsestIndexedLevel":
		return &p.coarsest, true
	case "bucketSize":
		return nil, true
	}
	return nil, false
}

// option reads one field of the specification.
func (p *parser) option(name string, v bson.Value) error {
	if at, ok := p.switches(name); ok {
		on, err := boolish(name, v)
		if err == nil && at != nil {
			*at = on
		}
		return err
	}
	if at, ok := p.numbers(name); ok {
		if !v.IsNumber() {
			return wrongType(name, v, "number")
		}
		if at != nil {
			*at = v
		}
		return nil
	}
	return p.special(name, v)
}

// special reads an option with its own rules.
func (p *parser) special(name string, v bson.Value) (err error) {
	s := p.s
	switch name {
	case "key":
		s.Key, err = document(name, v)
	case "name":
		p.hasName = true
		if _, err = typed(name, v, bson.TypeString); err == nil {
			s.Name, _ = v.Str()
		}
	case "v":
		if !v.IsNumber() {
			return wrongType(name, v, "number")
		}
		if p.version, _ = v.TruncInt64(); p.version < 1 || p.version > 2 {
			return cannot("Invalid index specification %s; cannot create an index with v=%s", p.raw, v)
		}
	case "hidden":
		b, ok := v.Boolean()
		if !ok {
			return wrongType(name, v, "bool")
		}
		s.Hidden = b
	case "expireAfterSeconds":
		return p.ttl(v)
	case "partialFilterExpression":
		s.PartialFilter, err = document(name, v)
	case "collation":
		d, bad := document(name, v)
		if bad != nil {
			return bad
		}
		if d.IsEmpty() {
			return mongoerr.New(mongoerr.BadValue, "The field 'collation' cannot be an empty object.")
		}
		s.Collation, err = p.collation(v)
	case "wildcardProjection":
		p.projection, err = typed(name, v, bson.TypeDocument)
	case "ns":
	case "storageEngine":
		_, err = typed(name, v, bson.TypeDocument)
	case "weights":
		p.weights = v
	case "default_language":
		p.defaultLanguage, err = typed(name, v, bson.TypeString)
	case "language_override":
		p.languageOverride, err = typed(name, v, bson.TypeString)
	default:
		return mongoerr.New(mongoerr.InvalidIndexSpecificationOption,
			"The field '%s' is not valid for an index specification. Specification: %s", name, p.raw)
	}
	return err
}

func document(name string, v bson.Value) (bson.Raw, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, wrongType(name, v, "object")
	}
	return d, nil
}

func wrongType(name string, v bson.Value, want string) error {
	return mongoerr.New(mongoerr.TypeMismatch, "The field '%s' must be of type %s, but got %s", name, want, v.Type)
}

func boolish(name string, v bson.Value) (bool, error) {
	if v.Type != bson.TypeBool && !v.IsNumber() {
		return false, mongoerr.New(mongoerr.TypeMismatch,
			"The field '%s' has value %s: %s, which is not convertible to bool", name, name, v)
	}
	return v.Truthy(), nil
}

func typed(name string, v bson.Value, t bson.Type) (bson.Value, error) {
	if v.Type != t {
		return v, wrongType(name, v, t.String())
	}
	return v, nil
}

// ttl reads expireAfterSeconds.
func (p *parser) ttl(v bson.Value) error {
	f, ok := v.AsFloat()
	switch {
	case f == -1 && p.raw.Get(LastWriteOption).Truthy():
	case !ok:
		return cannot("TTL index 'expireAfterSeconds' option must be numeric, but received a type of '%s'. Index spec: %s", v.Type, p.raw)
	case f != f || f < 0 || f > math.MaxInt32:
		return cannot("TTL index 'expireAfterSeconds' option must be within the range 0 to %d. Index spec: %s", math.MaxInt32, p.raw)
	}
	p.s.HasTTL, p.s.ExpireAfterSeconds = true, int64(f)
	return nil
}

// finish completes an index specification after its options were read: it parses the key pattern and checks that the
// options fit together.
func (p *parser) finish() error {
	s := p.s
	if err := p.checkName(); err != nil {
		return err
	}
	if err := p.keyPattern(); err != nil {
		return err
	}
	switch f, _ := s.Key.First(); {
	case s.Name == "_id_" && !s.IsID():
		return mongoerr.New(mongoerr.BadValue, "The index name '_id_' is reserved for the _id index, which must have key pattern {_id: 1}, found key: %s", s.Key)
	case len(s.Parts) == 1 && string(f.Name) == "_id" && s.Parts[0].Dir == keystring.Descending:
		return mongoerr.New(mongoerr.BadValue, "The field 'key' for an _id index must be {_id: 1}, but got %s", s.Key)
	case s.IsID():
		if err := p.checkID(); err != nil {
			return err
		}
	}
	if s.HasTTL && len(s.Parts) > 1 {
		return cannot("TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: %s", p.raw)
	}
	if err := p.checkLastWrite(); err != nil {
		return err
	}
	if s.Sparse && s.PartialFilter != nil {
		return cannot("cannot mix \"partialFilterExpression\" and \"sparse\" options")
	}
	if p.version == 1 && s.Collation != nil {
		return cannot("Invalid index specification %s; cannot create an index with collation option and index version 1", p.raw)
	}
	if p.weights.Type != bson.TypeMissing && s.Kind.Name != "text" {
		return cannot("the field 'weights' can only be specified with text indexes")
	}
	if p.projection.Type != bson.TypeMissing && s.Kind.Name != "wildcard" {
		return mongoerr.New(mongoerr.BadValue, "The field 'wildcardProjection' is only allowed in a 'wildcard' index")
	}
	if err := p.partial(); err != nil {
		return err
	}
	if s.Kind.check != nil {
		if err := s.Kind.check(p); err != nil {
			return err
		}
	}
	p.layout()
	s.dependOn()
	return nil
}

func (p *parser) checkName() error {
	switch {
	case p.s.Name == "":
		return cannot("The index name cannot be empty")
	case strings.IndexByte(p.s.Name, 0) >= 0:
		return cannot("The index name cannot contain a zero byte")
	case p.s.Name == "*":
		return mongoerr.New(mongoerr.BadValue, "The index name '*' is not valid.")
	}
	return nil
}

// keyPattern parses the fields of the key pattern, which determine the kind of the index.
func (p *parser) keyPattern() error {
	s := p.s
	if s.Key.IsEmpty() {
		return cannot("Index keys cannot be an empty object")
	}
	for it := s.Key.Iter(); it.Next(); {
		part, err := p.part(string(it.Name), it.Value)
		if err != nil {
			return err
		}
		if len(s.Parts) == fieldsMax {
			return mongoerr.New(13103, "too many compound keys")
		}
		for i := range s.Parts {
			if s.Parts[i].Name == part.Name {
				return mongoerr.New(mongoerr.BadValue, "The field '%s' appears multiple times in the index key pattern", part.Name)
			}
		}
		s.Parts = append(s.Parts, part)
	}
	plugin := ""
	for i := range s.Parts {
		switch q := s.Parts[i].Plugin; {
		case q == "" || q == plugin:
		case plugin == "":
			plugin = q
		default:
			return cannot("Can't use more than one index plugin for a single index.")
		}
	}
	s.Kind = kindOf(plugin)
	return nil
}

func (p *parser) part(name string, v bson.Value) (Part, error) {
	part := Part{Name: name, Dir: keystring.Ascending}
	wildcard := isWildcard(name)
	switch {
	case v.IsNumber():
		f, _ := v.AsFloat()
		switch {
		case f == 0 || f != f:
			return part, cannot("Values in the index key pattern cannot be 0.")
		case f < 0:
			part.Dir = keystring.Descending
		}
		if wildcard {
			part.Plugin = "wildcard"
		}
	case v.Type == bson.TypeString:
		part.Plugin, _ = v.Str()
		switch {
		case part.Plugin == "wildcard" && !wildcard:
			return part, mongoerr.New(7246202, "The index type 'wildcard' is not allowed as a value of the index key pattern")
		case part.Plugin == "wildcard" || kindOf(part.Plugin) == nil || part.Plugin == "":
			return part, cannot("Unknown index plugin '%s'", part.Plugin)
		case wildcard && part.Plugin != "text":
			return part, cannot("The key pattern value for an '$**' field must be a non-zero number or 'text', not '%s'", part.Plugin)
		}
	default:
		return part, cannot("Values in v:2 index key pattern cannot be of type %s. Only numbers > 0, numbers < 0, and strings are allowed.", v.Type)
	}
	if wildcard {
		name = name[:max(0, len(name)-len(".$**"))]
		if name == "" {
			return part, nil
		}
	}
	var err error
	part.Path, err = p.fieldPath(name)
	return part, err
}

// pathMax is the largest number of components in a path of an index key: no stored document is nested deeper.
// Manual: reference/limits#mongodb-limit-Nested-Depth-for-BSON-Documents.
const pathMax = 180

// isWildcard reports whether the name is "$**" or like "a.b.$**".
func isWildcard(name string) bool {
	return name == "$**" || len(name) > 4 && name[len(name)-4:] == ".$**"
}

func (p *parser) fieldPath(name string) (path.Path, error) {
	if name == "" {
		return path.Path{}, cannot("Index keys cannot be an empty field.")
	}
	at, err := path.Compile(name)
	if err != nil {
		return at, cannot("Index keys cannot contain a zero byte.")
	}
	if at.Len() > pathMax {
		return at, cannot("Index key path has more than %d components.", pathMax)
	}
	for i := range at.Len() {
		switch part := at.Name(i); {
		case part == "":
			return at, cannot("Index keys cannot contain an empty field.")
		case part[0] == '$' && !(i > 0 && bson.IsDBRefField(part)):
			return at, cannot("Index key contains an illegal field name: field name starts with '$'.")
		}
	}
	return at, nil
}

// isIDPattern reports whether the key pattern is {_id: 1}, with any positive number: the index of _id.
func isIDPattern(key bson.Raw) bool {
	f, ok := key.First()
	if !ok || string(f.Name) != "_id" || key.Len() != 1 {
		return false
	}
	n, ok := f.Value.AsFloat()
	return ok && n > 0
}

// checkID rejects options that the _id index cannot have.
func (p *parser) checkID() error {
	for it := p.raw.Iter(); it.Next(); {
		switch string(it.Name) {
		case "key", "name", "v", "ns", "collation", "clustered", "background":
		case "unique": // clustered collections specify it for theirs
			if !p.s.Clustered {
				return p.notForID(string(it.Name))
			}
		default:
			return p.notForID(string(it.Name))
		}
	}
	if !p.s.Clustered {
		p.s.Name = "_id_"
	}
	return nil
}

func (p *parser) notForID(name string) error {
	return mongoerr.New(mongoerr.InvalidIndexSpecificationOption,
		"The field '%s' is not valid for an _id index specification. Specification: %s", name, p.raw)
}

// partial parses the partial filter under the index's own collation.
func (p *parser) partial() (err error) {
	s := p.s
	if s.PartialFilter == nil {
		return nil
	}
	if err := checkPartial(s.PartialFilter, 0); err != nil {
		return err
	}
	env := *p.env.ForCatalog()
	env.Collation = s.Collation
	s.Partial, err = match.Parse(&env, s.PartialFilter)
	return err
}

// layout determines the keystrings of an entry.
func (p *parser) layout() {
	s := p.s
	if s.Kind.layout != nil {
		s.Kind.layout(s)
		return
	}
	for i := range s.Parts {
		s.addKey(s.Parts[i].Name, s.Parts[i].Dir)
		s.paths = append(s.paths, s.Parts[i].Path)
	}
}

// dependOn computes the paths for Touched.
func (s *Spec) dependOn() {
	add := func(p path.Path) {
		if p = p.Prefix(p.FirstPosition()); p.Len() == 0 {
			s.touchAll = true
			return
		}
		s.touch = append(s.touch, p)
	}
	for i := range s.Parts {
		if part := &s.Parts[i]; part.Name != "_fts" && part.Name != "_ftsx" {
			add(part.Path) // without components for a wildcard over everything
		}
	}
	if s.Text != nil {
		s.touchAll = true // the language field may be in any document on the path
	}
	if s.Partial == nil {
		return
	}
	match.Walk(s.Partial, func(n match.Node) {
		switch pathed, ok := n.(match.Pathed); {
		case ok:
			add(pathed.Path())
		case len(n.Children()) == 0:
			s.touchAll = true
		}
	})
}

// addKey adds a keystring to the entries.
func (s *Spec) addKey(name string, dir keystring.Dir) {
	s.fields = append(s.fields, name)
	s.dirs = append(s.dirs, dir)
	if name != WildcardPath && name != "_ftsx" {
		s.about++
	}
}

// printed writes the specification in listIndexes' form.
func (p *parser) printed() bson.Raw {
	s, b := p.s, bson.NewBuilder(nil)
	b.Int32("v", s.Version)
	b.Raw("key", s.Key)
	b.String("name", s.Name)
	for it := p.raw.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "v", "key", "name", "ns", "dropDups", "weights", "default_language", "language_override", "textIndexVersion", "2dsphereIndexVersion":
		case "unique", "sparse", "prepareUnique", "clustered", "background", "disallowNewDuplicateKeys", LastWriteOption:
			b.Bool(name, it.Value.Truthy())
		case "hidden":
			if s.Hidden {
				b.Bool(name, true)
			}
		case "expireAfterSeconds":
			b.Int(name, s.ExpireAfterSeconds)
		case "collation":
			s.Collation.Append(b, name)
		default:
			b.Value(name, it.Value)
		}
	}
	if s.Kind.print != nil {
		s.Kind.print(s, b)
	}
	return b.Doc()
}
