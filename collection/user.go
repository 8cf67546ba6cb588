package collection

// User identifies the user that sends a command. The zero User means no user. Users are compared as a whole: the
// same name may be given to a later user, and "a@b@c" may be the text of two users.
type User struct {
	Name, DB string
	ID       [16]byte // a UUID, new with each createUser
}

// String returns "name@db" for display; "" for no user.
func (u User) String() string {
	if u.IsZero() {
		return ""
	}
	return u.Name + "@" + u.DB
}

// IsZero reports whether there is no user.
func (u User) IsZero() bool { return u == User{} }

// Called reports whether this is the name of the user.
func (u User) Called(name, db string) bool { return u.Name == name && u.DB == db }

// Key returns "db.name", the _id of the user in admin.system.users. Unlike the result of String it identifies one
// user, because the names of databases have no dots. It is "" for no user.
func (u User) Key() string {
	if u.IsZero() {
		return ""
	}
	return u.DB + "." + u.Name
}
