package account

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// Definition is a role or a user of an account, translated into MongoDB's terms from the form in which `az cosmosdb
// mongodb role|user definition` writes and reads it.
// Source: Azure Cosmos DB for MongoDB, "how-to-setup-rbac".
type Definition struct {
	User    bool
	DB      string
	Name    string
	BuiltIn bool     // a role that every database has
	Secret  bool     // a user with a password
	Fields  bson.Raw // of createUser or createRole, and of updateUser or updateRole
	Left    []string // parts that could not be translated
	Notes   []string // parts whose translation differs from the text
}

// Kind returns "user" or "role".
func (d *Definition) Kind() string {
	if d.User {
		return "user"
	}
	return "role"
}

// Command returns the command that creates the role or user on a server; if update is set, the command that changes
// the existing one.
func (d *Definition) Command(update bool) bson.Raw {
	verb := "create"
	if update {
		verb = "update"
	}
	name := verb + strings.ToUpper(d.Kind()[:1]) + d.Kind()[1:]
	return append(bson.D{{name, d.Name}}, d.Fields.D()...).Doc()
}

// Definitions reads the text of a file with the definition of a role or user, or a list of them. Names may have the
// case of the input (--body) or of the output of the Azure CLI; of a resource template, the properties are read.
// Errors: a text that is no JSON; an element that is neither a role nor a user.
func Definitions(text string) (out []*Definition, err error) {
	// A list is no document by itself.
	doc, err := ejson.Parse(`{"list": ` + text + `}`)
	if err != nil {
		return nil, err
	}
	list, ok := doc.Get("list").Array()
	if !ok {
		list, _ = bson.D{{"list", bson.A{doc.Get("list")}}}.Doc().Get("list").Array()
	}
	for v := range list.Values() {
		d, ok := v.Doc()
		if !ok {
			return nil, fmt.Errorf("%s is not a role or user definition", v)
		}
		one, err := definition(fold(d))
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// folded has the fields of a JSON object by their names in lower case, because the Azure CLI's input and output
// differ in case.
type folded map[string]bson.Value

func fold(doc bson.Raw) folded {
	out := folded{}
	for name, v := range doc.Fields() {
		out[strings.ToLower(string(name))] = v
	}
	if inner, ok := out["properties"].Doc(); ok {
		return fold(inner)
	}
	return out
}

func (f folded) text(name string) string { s, _ := f[name].Str(); return s }

func (f folded) list(name string) (out []folded) {
	list, _ := f[name].Array()
	for v := range list.Values() {
		if d, ok := v.Doc(); ok {
			out = append(out, fold(d))
		}
	}
	return out
}

func (f folded) texts(name string) (out []string) {
	list, _ := f[name].Array()
	for v := range list.Values() {
		if s, ok := v.Str(); ok {
			out = append(out, s)
		}
	}
	return out
}

// definition reads the definition of one role or user. The database and the name may be missing as fields and be in
// the Id alone, as "database.name".
func definition(f folded) (*Definition, error) {
	d := &Definition{User: f.text("username") != "" || f["mechanisms"].Type != bson.TypeMissing, DB: f.text("databasename"), Name: f.text("rolename")}
	if d.User {
		d.Name = f.text("username")
	}
	id := f.text("id")
	db, name, _ := strings.Cut(id[strings.LastIndexByte(id, '/')+1:], ".")
	if d.DB == "" {
		d.DB = db
	}
	if d.Name == "" {
		d.Name = name
	}
	if d.DB == "" || d.Name == "" || !d.User && f["privileges"].Type == bson.TypeMissing && f["roles"].Type == bson.TypeMissing {
		return nil, fmt.Errorf("expected a role definition (RoleName, DatabaseName, Privileges) or a user definition (UserName, DatabaseName, Roles), found the fields %s",
			strings.Join(f.names(), ", "))
	}
	fields := d.role
	if d.User {
		fields = d.user
	}
	roles := bson.A{}
	for _, r := range f.list("roles") {
		roles = append(roles, bson.D{{"role", r.text("role")}, {"db", cmp.Or(r.text("db"), d.DB)}})
	}
	d.Fields = append(fields(f), bson.E{"roles", roles}).Doc()
	return d, nil
}

// names are the fields' names, sorted.
func (f folded) names() (out []string) {
	for name := range f {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// user returns the fields of a user other than its roles, for createUser. Custom data is a text in the Azure CLI's
// form, and becomes a document.
func (d *Definition) user(f folded) (out bson.D) {
	if password := f.text("password"); password != "" {
		d.Secret = true
		out = append(out, bson.E{"pwd", password})
	}
	if text := f.text("customdata"); text != "" {
		doc, err := ejson.Parse(text)
		if err != nil {
			doc = bson.D{{"customData", text}}.Doc()
		}
		out = append(out, bson.E{"customData", doc})
	}
	mechanisms := f.texts("mechanisms")
	if text := f.text("mechanisms"); text != "" {
		mechanisms = strings.Split(text, ",")
	}
	if len(mechanisms) == 0 {
		return out
	}
	names := bson.A{}
	for _, m := range mechanisms {
		names = append(names, strings.TrimSpace(m))
	}
	return append(out, bson.E{"mechanisms", names})
}

// builtIn are the values of the field type by which the Azure CLI marks a role that every database has.
var builtIn = []string{"builtinrole", "0"}

// ofDatabase are actions that MongoDB checks for a database only, while the service also accepts them for a
// collection.
var ofDatabase = []string{"dbStats", "listCollections"}

// role returns the privileges of a role.
func (d *Definition) role(f folded) bson.D {
	kind := strings.ToLower(f.text("type"))
	if n, ok := f["type"].AsInt64(); ok {
		kind = fmt.Sprint(n)
	}
	if k := f.text("typepropertiestype"); k != "" { // the output of az has the resource's type under "type"
		kind = strings.ToLower(k)
	}
	d.BuiltIn = slices.Contains(builtIn, kind)
	privileges := bson.A{}
	privilege := func(db, coll string, actions bson.A) {
		if len(actions) > 0 {
			privileges = append(privileges, bson.D{{"resource", bson.D{{"db", db}, {"collection", coll}}}, {"actions", actions}})
		}
	}
	for _, p := range f.list("privileges") {
		resource, _ := p["resource"].Doc()
		at := fold(resource)
		db, coll := at.text("db"), at.text("collection")
		if db == "" {
			db = d.DB
		}
		var here, wider bson.A
		for _, action := range p.texts("actions") {
			switch {
			case action == "listDatabases":
				d.Notes = append(d.Notes, "listDatabases needs no privilege: every user lists the databases that a role of theirs is about")
			case coll != "" && action == "dropDatabase":
				d.Left = append(d.Left, fmt.Sprintf("dropDatabase on the collection %s.%s: it is granted on a database (\"Collection\": \"\")", db, coll))
			case coll != "" && slices.Contains(ofDatabase, action):
				d.Notes = append(d.Notes, fmt.Sprintf("%s on the collection %s.%s is granted on the database %s", action, db, coll, db))
				wider = append(wider, action)
			default:
				here = append(here, action)
			}
		}
		privilege(db, coll, here)
		privilege(db, "", wider)
	}
	return bson.D{{"privileges", privileges}}
}
