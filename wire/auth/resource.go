package auth

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Kind is the form of a Resource.
type Kind uint8

// The forms. Manual: reference/resource-document.
const (
	OnNamespace Kind = iota // {db, collection}; an empty name means any
	OnCluster               // {cluster: true}
	OnAny                   // {anyResource: true}
	OnBuckets               // {db, system_buckets}: the buckets of time series
)

// Resource is the object of a privilege. DB and Coll have a meaning only for the kinds OnNamespace and OnBuckets.
type Resource struct {
	Kind     Kind
	DB, Coll string
}

// Cluster is the resource of actions on the whole cluster.
var Cluster = Resource{Kind: OnCluster}

// parseResource reads a resource document.
// Errors: BadValue (2), TypeMismatch (14), IDLDuplicateField (40413).
func parseResource(d bson.Raw) (r Resource, err error) {
	var hasDB, hasColl, hasBuckets, cluster, any bool
	if name, twice := d.Repeated(); twice {
		return r, mongoerr.RepeatedField("resource" + "." + string(name))
	}
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "db", "collection", "system_buckets":
			s, ok := it.Value.Str()
			if !ok || it.Value.Type != bson.TypeString {
				return r, mongoerr.New(mongoerr.TypeMismatch, "resource field %s must be a string, but found %s", name, it.Value.Type)
			}
			switch name {
			case "db":
				r.DB, hasDB = s, true
			case "collection":
				r.Coll, hasColl = s, true
			default:
				r.Coll, hasBuckets = s, true
			}
		case "cluster":
			cluster = it.Value.Truthy()
		case "anyResource":
			any = it.Value.Truthy()
		default:
			return r, mongoerr.New(mongoerr.BadValue, "resource pattern has an unknown field '%s'", name)
		}
	}
	switch {
	case (cluster || any) && (hasDB || hasColl || hasBuckets) || cluster && any:
		return r, mongoerr.New(mongoerr.BadValue, "resource must be one of {db, collection}, {cluster: true}, {anyResource: true} and {db, system_buckets}")
	case cluster:
		return Cluster, nil
	case any:
		return Resource{Kind: OnAny}, nil
	case hasBuckets && !hasColl:
		r.Kind = OnBuckets
		return r, nil
	case hasDB && hasColl:
		return r, nil
	}
	return r, mongoerr.New(mongoerr.BadValue, "resource must set both db and collection, or cluster, anyResource or system_buckets")
}

// append writes the resource document.
func (r Resource) append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	switch r.Kind {
	case OnCluster:
		b.Bool("cluster", true)
	case OnAny:
		b.Bool("anyResource", true)
	case OnBuckets:
		b.String("db", r.DB)
		b.String("system_buckets", r.Coll)
	default:
		b.String("db", r.DB)
		b.String("collection", r.Coll)
	}
	b.End()
}

// Privilege allows actions on a resource.
type Privilege struct {
	Resource Resource
	Actions  Actions
}

// ParsePrivileges reads an array of {resource, actions}. Errors: TypeMismatch (14), BadValue (2), FailedToParse (9),
// IDLDuplicateField (40413), errors of env, which end the command.
func ParsePrivileges(env *mql.Env, list bson.Raw) ([]Privilege, error) {
	var out []Privilege
	for v := range list.Values() {
		if err := env.Spend(entryWork + len(v.Data)); err != nil {
			return nil, err
		}
		d, ok := v.Doc()
		if !ok || v.Type != bson.TypeDocument {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "Elements in privilege arrays must be objects, but found %s", v.Type)
		}
		p, err := parsePrivilege(d)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return Merge(out), nil
}

// entryWork is the work that is counted for reading one privilege or role, in addition to its text, in bytes as
// Env.Spend counts them.
const entryWork = 1024

func parsePrivilege(d bson.Raw) (p Privilege, err error) {
	hasResource, hasActions := false, false
	if name, twice := d.Repeated(); twice {
		return p, mongoerr.RepeatedField("privileges" + "." + string(name))
	}
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "resource":
			r, ok := it.Value.Doc()
			if !ok || it.Value.Type != bson.TypeDocument {
				return p, mongoerr.New(mongoerr.TypeMismatch, "privilege field resource must be an object, but found %s", it.Value.Type)
			}
			if p.Resource, err = parseResource(r); err != nil {
				return p, err
			}
			hasResource = true
		case "actions":
			list, ok := it.Value.Array()
			if !ok {
				return p, mongoerr.New(mongoerr.TypeMismatch, "privilege field actions must be an array, but found %s", it.Value.Type)
			}
			if p.Actions, err = parseActions(list); err != nil {
				return p, err
			}
			hasActions = true
		default:
			return p, mongoerr.New(mongoerr.BadValue, "privilege has an unknown field '%s'", name)
		}
	}
	switch {
	case !hasResource:
		return p, mongoerr.New(mongoerr.FailedToParse, "privilege needs a field 'resource'")
	case !hasActions || p.Actions.IsEmpty():
		return p, mongoerr.New(mongoerr.FailedToParse, "privilege needs a field 'actions' with at least one action")
	}
	return p, nil
}

func parseActions(list bson.Raw) (s Actions, err error) {
	for v := range list.Values() {
		name, ok := v.Str()
		if !ok || v.Type != bson.TypeString {
			return s, mongoerr.New(mongoerr.TypeMismatch, "actions must be strings, but found %s", v.Type)
		}
		if name == anyAction {
			return AllActions(), nil
		}
		a, ok := ActionNamed(name)
		if !ok {
			return s, mongoerr.New(mongoerr.FailedToParse, "Unrecognized action privilege string: %s", name)
		}
		s = s.Union(MakeActions(a))
	}
	return s, nil
}

// Append writes the privilege as a document.
func (p Privilege) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	p.Resource.append(b, "resource")
	b.BeginArray("actions")
	for _, a := range p.Actions.Names() {
		b.String("", a)
	}
	b.End()
	b.End()
}

// Merge returns a new list with the privileges of several lists, in which each resource occurs once with all its
// actions.
func Merge(lists ...[]Privilege) []Privilege {
	var m merged
	for _, list := range lists {
		m.add(list)
	}
	return m.list
}

// merged is a list of privileges with each resource once.
type merged struct {
	list []Privilege
	at   map[Resource]int // in list
}

func (m *merged) add(more []Privilege) { m.addWithout(more, Actions{}) }

// addWithout adds privileges without the actions of less.
func (m *merged) addWithout(more []Privilege, less Actions) {
	if m.at == nil {
		m.at = make(map[Resource]int, len(more))
	}
	for _, p := range more {
		if p.Actions = p.Actions.Minus(less); p.Actions.IsEmpty() {
			continue
		}
		if i, ok := m.at[p.Resource]; ok {
			m.list[i].Actions = m.list[i].Actions.Union(p.Actions)
			continue
		}
		m.at[p.Resource] = len(m.list)
		m.list = append(m.list, p)
	}
}

// Without returns a new list of the privileges in list without the actions that less has for the same resource.
// Resources without a remaining action are left out. In list each resource occurs once.
func Without(list, less []Privilege) []Privilege {
	gone := map[Resource]Actions{}
	for _, q := range less {
		gone[q.Resource] = gone[q.Resource].Union(q.Actions)
	}
	var out []Privilege
	for _, p := range list {
		p.Actions = p.Actions.Minus(gone[p.Resource])
		if !p.Actions.IsEmpty() {
			out = append(out, p)
		}
	}
	return out
}
