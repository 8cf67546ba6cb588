package collection

// User names who runs a command. The zero User is nobody. Users are compared whole: a name alone
// may be that of a later user, and as text "a@b@c" it may be that of two.
type User struct {
	Name, DB string
	ID       [16]byte // a UUID, new with each createUser
}

// String is "name@db", to be read; "" for nobody.
func (u User) String() string {
	if u.Nobody() {
		return ""
	}
	return u.Name + "@" + u.DB
}

// Nobody reports that there is no user.
func (u User) Nobody() bool { return u == User{} }

// Called reports that this is the name of the user.
func (u User) Called(name, db string) bool { return u.Name == name && u.DB == db }

// Key is "db.name" as admin.system.users has it for _id: unlike String it names one user, as the
// names of databases have no dots. "" is for nobody.
func (u User) Key() string {
	if u.Nobody() {
		return ""
	}
	return u.DB + "." + u.Name
}
