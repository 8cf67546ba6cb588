package auth

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage/memkv"
)

func openDirectory(t *testing.T) *Directory {
	t.Helper()
	s := memkv.Open(memkv.Options{})
	t.Cleanup(func() { s.Close() })
	d, err := Open(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *Directory) put(t *testing.T, users []*User, roles []*Role) {
	t.Helper()
	err := d.Change(t.Context(), func(e *Edit) error {
		for _, u := range users {
			e.PutUser(u)
		}
		for _, r := range roles {
			e.PutRole(r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// login logs in at the directory d by SCRAM, as a client does, and returns the error of the login or of the server's
// proof.
func login(t *testing.T, d *Directory, m Mechanism, n Name, password string) error {
	t.Helper()
	if m == ScramSHA1 {
		password = Digest(n.Name, password)
	} else if p, err := stringprep.SASLprep.Prepare(password); err == nil {
		password = p
	}
	hash := scram.SHA256
	if m == ScramSHA1 {
		hash = scram.SHA1
	}
	client, err := hash.NewClientUnprepped(n.Name, password, "")
	if err != nil {
		t.Fatal(err)
	}
	talk := client.NewConversation()
	c, err := d.Start(d, m, n.DB, 15_000)
	if err != nil {
		t.Fatal(err)
	}
	answer := ""
	for range 2 {
		message, err := talk.Step(answer)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Step([]byte(message))
		if err != nil {
			if c.Done() {
				t.Error("done after an error")
			}
			return err
		}
		answer = string(b)
	}
	if _, err := talk.Step(answer); err != nil {
		return err // the server did not prove itself
	}
	if !c.Done() || c.Found == nil || c.User != n {
		t.Errorf("after the proof: done %v, user %v", c.Done(), c.User)
	}
	return nil
}

// TestScram checks that both mechanisms accept the right password, and refuse a wrong one, a user that does not exist
// and a user of another database.
func TestScram(t *testing.T) {
	d := openDirectory(t)
	n := Name{"al=ice,", "test"}
	u := &User{Name: n, ID: NewUserID(), Credentials: map[Mechanism]Credential{}}
	for _, m := range []Mechanism{ScramSHA1, ScramSHA256} {
		c, err := NewCredential(m, n.Name, "pass\u00adword\u2168", false, 5000)
		if err != nil {
			t.Fatal(err)
		}
		u.Credentials[m] = c
	}
	d.put(t, []*User{u}, nil)
	for _, m := range []Mechanism{ScramSHA1, ScramSHA256} {
		if err := login(t, d, m, n, "pass\u00adword\u2168"); err != nil {
			t.Errorf("%s: %v", m, err)
		}
		if err := login(t, d, m, n, "wrong"); err == nil {
			t.Errorf("%s lets a wrong password in", m)
		}
		if err := login(t, d, m, Name{"nobody", "test"}, "password"); err == nil {
			t.Errorf("%s lets nobody in", m)
		}
		if err := login(t, d, m, Name{n.Name, "other"}, "pass\u00adword\u2168"); err == nil {
			t.Errorf("%s lets in a user of another database", m)
		}
	}
	if err := login(t, d, ScramSHA256, n, "passwordIX"); err != nil {
		t.Errorf("a password that SASLprep makes the same: %v", err)
	}
	if _, err := NewCredential(ScramSHA256, "u", "bad\x01", false, 5000); err == nil {
		t.Error("a control character in a password")
	}
}

// TestFabricated checks that a user name that does not exist gets the same salt from two directories over one store,
// as after a restart or at another server, and that its credential looks like that of an existing user.
func TestFabricated(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	open := func() *Directory {
		d, err := Open(t.Context(), store, nil)
		if err == nil {
			err = d.KeepDecoy(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one, other := open(), open()
	n := Name{"x", "y"}
	for _, m := range []Mechanism{ScramSHA1, ScramSHA256} {
		a, b := one.fabricate(m, n, 12_345), other.fabricate(m, n, 12_345)
		real, err := NewCredential(m, n.Name, "p", false, 12_345)
		if err != nil {
			t.Fatal(err)
		}
		if a.Salt != b.Salt {
			t.Errorf("%s: the salt of a name that does not exist changes", m)
		}
		if len(a.Salt) != len(real.Salt) || len(a.StoredKey) != len(real.StoredKey) || len(a.ServerKey) != len(real.ServerKey) || a.Iters != real.Iters {
			t.Errorf("%s: a made up credential has other sizes than a real one", m)
		}
	}
	salts := map[string]bool{}
	for _, n := range []Name{{"x", "y"}, {"z", "y"}, {"x", "z"}, {"a", "b@c"}, {"a@b", "c"}} {
		salts[one.fabricate(ScramSHA256, n, 12_345).Salt] = true
	}
	if len(salts) != 5 {
		t.Error("two names have one salt")
	}
	if d := openDirectory(t); d.fabricate(ScramSHA256, n, 12_345).Salt == one.fabricate(ScramSHA256, n, 12_345).Salt {
		t.Error("two stores have one secret")
	}
	c, err := one.CredentialOf(ScramSHA256, n, "p", 12_345)
	if err != nil || c.KeyFactors != one.fabricate(ScramSHA256, n, 12_345).KeyFactors {
		t.Errorf("a user outside of the directory has another salt: %v", err)
	}
}

// TestDirectoryIsDurable: changes are there after the directory is opened again.
func TestDirectoryIsDurable(t *testing.T) {
	s := memkv.Open(memkv.Options{})
	defer s.Close()
	d, err := Open(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCredential(ScramSHA256, "u", "p", false, 5000)
	if err != nil {
		t.Fatal(err)
	}
	restrictions, err := ParseRestrictions(value(t, `[{clientSource: ["10.0.0.0/8"]}]`))
	if err != nil {
		t.Fatal(err)
	}
	u := &User{Name: Name{"u", "a"}, ID: NewUserID(), Roles: []Name{{"r", "a"}, {"read", "b"}}, Restrictions: restrictions,
		Credentials: map[Mechanism]Credential{ScramSHA256: c}}
	r := &Role{Name: Name{"r", "a"}, Privileges: []Privilege{{in("a", "c"), MakeActions(Find)}}, Roles: []Name{{"read", "a"}}}
	d.put(t, []*User{u, {Name: Name{"x", External}, ID: NewUserID()}}, []*Role{r})
	version := d.Version()
	failed := errors.New("no")
	if err := d.Change(t.Context(), func(e *Edit) error { e.DropUser(u.Name); return failed }); err != failed || d.User(u.Name) == nil || d.Version() != version {
		t.Errorf("a change that fails: %v", err)
	}
	again, err := Open(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range d.Users("") {
		if got := again.User(u.Name); got == nil || got.Doc().Value().String() != u.Doc().Value().String() {
			t.Errorf("user %v came back as %v", u.Doc(), got)
		}
	}
	if got := again.Role(r.Name); got == nil || got.Doc().Value().String() != r.Doc().Value().String() {
		t.Errorf("role %v came back as %v", r.Doc(), got)
	}
	if err := login(t, again, ScramSHA256, u.Name, "p"); err != nil {
		t.Error(err)
	}
}

// TestResources checks which namespaces each form of a resource covers. Manual: reference/resource-document.
func TestResources(t *testing.T) {
	for _, c := range []struct {
		r       Resource
		yes, no string
	}{
		{in("a", "c"), "a.c", "a a.d b.c a.system.js"},
		{in("a", ""), "a a.c a.d", "b.c a.system.js config.c"},
		{in("", "c"), "a.c b.c config.c", "a.d a"},
		{in("", ""), "a a.c b.c admin.c", "a.system.js config.c local.c config admin.system.users"},
		{in("a", "system.js"), "a.system.js", "a.c b.system.js"},
		{in("config", ""), "config config.c", "config.system.sessions local.c"},
		{Resource{Kind: OnAny}, "a a.c a.system.js config.c local.c", ""},
		{Cluster, "", "a a.c"},
		{Resource{Kind: OnBuckets, DB: "a", Coll: "t"}, "a.system.buckets.t", "a.t a.system.buckets.u b.system.buckets.t"},
		{Resource{Kind: OnBuckets, DB: "a"}, "a.system.buckets.t a.system.buckets.u", "b.system.buckets.t"},
		{Resource{Kind: OnBuckets, Coll: "t"}, "a.system.buckets.t b.system.buckets.t", "b.system.buckets.u"},
		{Resource{Kind: OnBuckets}, "a.system.buckets.t", "a.system.js"},
	} {
		g := NewGrants([]Privilege{{c.r, MakeActions(Find)}})
		for _, s := range strings.Fields(c.yes) {
			if !g.May(Find, collection.ParseNamespace(s)) {
				t.Errorf("%+v does not cover %s", c.r, s)
			}
		}
		for _, s := range strings.Fields(c.no) {
			if g.May(Find, collection.ParseNamespace(s)) {
				t.Errorf("%+v covers %s", c.r, s)
			}
		}
		if g.May(Insert, collection.ParseNamespace("a.c")) {
			t.Errorf("%+v allows an action it does not name", c.r)
		}
		if g.MayCluster(Find) != (c.r.Kind == OnCluster || c.r.Kind == OnAny) {
			t.Errorf("%+v on the cluster", c.r)
		}
	}
	var nobody *Grants
	if nobody.May(Find, collection.Namespace{DB: "a", Coll: "c"}) || nobody.MayCluster(Inprog) || nobody.SomethingIn("a") {
		t.Error("nobody may do something")
	}
}

// TestRoot checks that the role root allows actions on ordinary data, on users and on the cluster, but not to act as
// the cluster itself, and that it exists only in admin.
func TestRoot(t *testing.T) {
	d := openDirectory(t)
	of := func(n Name) []Privilege {
		list, err := d.Privileges(mql.NewEnv(t.Context()), []Name{n})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	g := NewGrants(of(Name{"root", "admin"}))
	for _, a := range []Action{Find, Insert, Update, Remove, DropDatabase, CreateUser, GrantRole, CollMod, Validate} {
		if !g.May(a, collection.Namespace{DB: "x", Coll: "c"}) && !g.May(a, collection.Namespace{DB: "x"}) {
			t.Errorf("root may not %s", a)
		}
	}
	for _, a := range []Action{Shutdown, Inprog, Killop, SetParameter, ListDatabases, ReplSetGetStatus, Fsync} {
		if !g.MayCluster(a) {
			t.Errorf("root may not %s", a)
		}
	}
	if g.MayCluster(Internal) || g.MayCluster(Impersonate) {
		t.Error("root may act as the cluster itself")
	}
	local := collection.Namespace{DB: "local"}
	if !g.May(GrantRole, local) || g.May(ViewUser, collection.Namespace{DB: "local", Coll: "c"}) {
		t.Error("root grants roles on local, which is no matter of its collections")
	}
	if got := len(of(Name{"root", "other"})); got != 0 {
		t.Errorf("root outside of admin has %d privileges", got)
	}
}

// TestBuiltins checks that the built-in roles are in alphabetical order and that each of them allows something.
func TestBuiltins(t *testing.T) {
	last := ""
	for _, b := range Builtins {
		if b.Name <= last {
			t.Errorf("%s stands after %s", b.Name, last)
		}
		last = b.Name
		if len(b.Privileges("x")) == 0 {
			t.Errorf("%s allows nothing", b.Name)
		}
	}
	for a := range Action(actionCount) {
		if got, ok := ActionNamed(a.String()); !ok || got != a {
			t.Errorf("action %d is called %q, which is %d", a, a, got)
		}
	}
}

func value(t *testing.T, text string) bson.Value {
	t.Helper()
	d := bsontest.Doc(t, `{v: `+text+`}`)
	return d.Get("v")
}

// TestRestrictions checks that a connection must match one restriction with both its client address and its server
// address.
func TestRestrictions(t *testing.T) {
	addr := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }
	rs, err := ParseRestrictions(value(t, `[{clientSource: ["10.0.0.0/8", "::1"], serverAddress: ["10.0.0.9"]}, {clientSource: ["192.168.1.1"]}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		client, server string
		want           bool
	}{
		{"10.1.2.3", "10.0.0.9", true}, {"10.1.2.3", "10.0.0.8", false}, {"11.1.2.3", "10.0.0.9", false},
		{"::1", "10.0.0.9", true}, {"::ffff:10.1.1.1", "10.0.0.9", true}, {"192.168.1.1", "1.2.3.4", true},
	} {
		if got := rs.Allow(addr(c.client), addr(c.server)); got != c.want {
			t.Errorf("%s to %s: %v", c.client, c.server, got)
		}
	}
	if rs.Allow(&net.UnixAddr{}, &net.UnixAddr{}) {
		t.Error("a Unix socket has an address")
	}
	if !Restrictions(nil).Allow(&net.UnixAddr{}, &net.UnixAddr{}) {
		t.Error("no restriction restricts")
	}
}

// TestAllocsMay: May allocates no memory for a namespace that no privilege covers. The privileges are on another
// namespace, on another database, and on another collection name in every database.
func TestAllocsMay(t *testing.T) {
	g := NewGrants([]Privilege{{in("a", "c"), MakeActions(Find)}, {in("b", ""), MakeActions(Find)}, {in("", "d"), MakeActions(Find)}})
	ns := collection.Namespace{DB: "z", Coll: "z"}
	if n := testing.AllocsPerRun(100, func() { g.May(Find, ns) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzScram sends arbitrary messages in a SCRAM conversation of a directory without users: none may cause a panic or
// complete it.
func FuzzScram(f *testing.F) {
	f.Add("n,,n=user,r=nonce", "c=biws,r=nonce,p=AAAA")
	f.Add("y,a=b,n==2C,r=x", "p=")
	f.Fuzz(func(t *testing.T, first, second string) {
		d := &Directory{users: map[Name]*User{}}
		c, err := d.Start(d, ScramSHA256, "test", 15_000)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Step([]byte(first)); err != nil {
			return
		}
		if _, err := c.Step([]byte(second)); err == nil || c.Done() {
			t.Errorf("%q and %q log nobody in", first, second)
		}
	})
}
