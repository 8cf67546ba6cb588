package privileges

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// own is the database in which the tested users have roles of the kind that exists in every database.
const own = "own"

// onAdmin is the suffix of a role's name in the matrix if a role that exists in every database is granted on the
// database admin.
const onAdmin = "@admin"

// role holds the actions of a built-in role by resource, as in the manual.
type role map[string][]string

// readRoles reads testdata/roles.txt, which describes its own format.
func readRoles(t *testing.T) map[string]role {
	t.Helper()
	text, err := os.ReadFile("testdata/roles.txt")
	if err != nil {
		t.Fatal(err)
	}
	// The first pass reads the resources, in which DB stands for the database of the role; the second adds the roles
	// that each role inherits.
	plain, inherits := map[string]role{}, map[string][]string{}
	name := ""
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(line, "#"):
		case f[0] == "role":
			name = f[1]
			plain[name] = role{}
			if len(f) > 3 {
				inherits[name] = f[3:]
			}
		default:
			plain[name][f[0]] = append(plain[name][f[0]], f[1:]...)
		}
	}
	var resolve func(name, db string) role
	resolve = func(name, db string) role {
		if plain[name] == nil {
			t.Fatalf("testdata/roles.txt has no role %q", name)
		}
		out := role{}
		for resource, actions := range plain[name] {
			if rest, ok := strings.CutPrefix(resource, "DB."); ok {
				resource = db + "." + rest
			}
			out[resource] = append(out[resource], actions...)
		}
		for _, from := range inherits[name] {
			from, everywhere := strings.CutSuffix(from, "@*")
			on := db
			if everywhere {
				on = "*"
			}
			for resource, actions := range resolve(from, on) {
				out[resource] = append(out[resource], actions...)
			}
		}
		return out
	}
	roles := map[string]role{}
	for name := range plain {
		roles[name], roles[name+onAdmin] = resolve(name, own), resolve(name, "admin")
	}
	return roles
}

// may reports whether a role allows an action on a resource: "cluster", a database as "x.", or a collection as "x.c".
// Manual: reference/resource-document.
func (r role) may(action, on string) bool {
	resources := []string{"any"}
	if on == "cluster" {
		resources = append(resources, on)
	} else {
		db, coll, _ := strings.Cut(on, ".")
		if coll != "" {
			resources = append(resources, on, "*."+coll)
		}
		if !strings.HasPrefix(coll, "system.") {
			resources = append(resources, db+".")
			if db != "config" && db != "local" {
				resources = append(resources, "*.")
			}
		}
	}
	return slices.ContainsFunc(resources, func(resource string) bool {
		return slices.Contains(r[resource], action) || slices.Contains(r[resource], "anyAction")
	})
}

// allowed reports whether a user with the role r meets requirements such as "find own.c, insert admin.c | anyAction
// cluster", in which | separates alternatives. A nil role means a client without a login. "anybody" requires nothing,
// "user" a login, and "!find own.c" that the action is not allowed.
func allowed(r role, needs string) bool {
	if needs == "anybody" {
		return true
	}
	if r == nil {
		return false
	}
	for all := range strings.SplitSeq(needs, "|") {
		met := true
		for need := range strings.SplitSeq(all, ",") {
			action, on, _ := strings.Cut(strings.TrimSpace(need), " ")
			action, not := strings.CutPrefix(action, "!")
			met = met && (action == "user" || r.may(action, on) != not)
		}
		if met {
			return true
		}
	}
	return false
}
