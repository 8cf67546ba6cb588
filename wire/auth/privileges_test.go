package auth

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// TestPrivilegesAreChecked checks that parsing many privileges, and resolving those of many roles, stops when the
// command's context ends.
func TestPrivilegesAreChecked(t *testing.T) {
	b := bson.NewArrayBuilder(nil)
	for i := range 5000 {
		Privilege{Resource{DB: "d", Coll: fmt.Sprint(i)}, MakeActions(Find)}.Append(b, "")
	}
	many := b.Doc()
	list, err := ParsePrivileges(mql.NewEnv(t.Context()), many)
	if err != nil || len(list) != 5000 {
		t.Fatal(len(list), err)
	}
	d := openDirectory(t)
	var names []Name
	var roles []*Role
	for i := range 500 {
		n := Name{fmt.Sprint("r", i), "d"}
		r := &Role{Name: n, Privileges: list[:10]}
		if i > 0 {
			r.Roles = names[i-1:]
		}
		names, roles = append(names, n), append(roles, r)
	}
	d.put(t, nil, roles)
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("it is to end")
	cancel(why)
	for what, ask := range map[string]func(env *mql.Env) error{
		"read":       func(env *mql.Env) error { _, err := ParsePrivileges(env, many); return err },
		"Privileges": func(env *mql.Env) error { _, err := d.Privileges(env, names); return err },
		"Inherited":  func(env *mql.Env) error { _, err := d.Inherited(env, names); return err },
		"Leading":    func(env *mql.Env) error { _, _, err := d.Leading(env, names, Name{"none", "d"}); return err },
	} {
		if err := ask(mql.NewEnv(t.Context())); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := ask(mql.NewEnv(ended)); !errors.Is(err, why) {
			t.Errorf("%s does not end: %v", what, err)
		}
	}
	if n, ok, _ := d.Leading(mql.NewEnv(t.Context()), []Name{names[3], names[9], names[12]}, names[7]); !ok || n != names[9] {
		t.Errorf("%v leads to %v, %v", n, names[7], ok)
	}
}

// TestMerge checks that a merged list has each resource once, and that Without leaves out resources that have no
// action left.
func TestMerge(t *testing.T) {
	on := func(coll string, actions ...Action) Privilege {
		return Privilege{Resource{DB: "d", Coll: coll}, MakeActions(actions...)}
	}
	was := []Privilege{on("a", Find), on("b", Insert)}
	got := Merge(was, []Privilege{on("c", Find), on("a", Update), on("c", Insert)})
	if want := []Privilege{on("a", Find, Update), on("b", Insert), on("c", Find, Insert)}; !reflect.DeepEqual(got, want) {
		t.Errorf("merged: %v", got)
	}
	if !reflect.DeepEqual(was, []Privilege{on("a", Find), on("b", Insert)}) {
		t.Errorf("the list that was given is now %v", was)
	}
	got = Without(got, []Privilege{on("a", Find), on("c", Find), on("c", Insert), on("e", Find)})
	if want := []Privilege{on("a", Update), on("b", Insert)}; !reflect.DeepEqual(got, want) {
		t.Errorf("left: %v", got)
	}
}
