package command

import "github.com/cantledb/cantle/wire/auth"

// Def is one command.
type Def struct {
	Name    string
	Aliases []string // other spellings, lower-cased ones among them
	Run     func(c *Call) error
	// Namespace says where the namespace stands that the command concerns.
	Namespace NamespaceFrom
	// Action is what the user must be allowed to do: on the cluster where it is an
	// action of that, else on the namespace that the command names, else on its
	// database. "" runs before authentication; "user" needs nothing but a user.
	Action string
	// Ask says what the command's arguments need beyond that; nil for nothing.
	Ask   func(q *asking)
	Needs Needs
	// Doc is the manual's page, relative to its root; "cosmos" for Azure's.
	Doc string

	scope  scope // what Action is on, and Action itself: see Def.resolve
	action auth.Action
}

// NamespaceFrom says how a command names what it works on.
type NamespaceFrom uint8

// The ways.
const (
	NoNamespace NamespaceFrom = iota // the database at most
	FirstField                       // {find: "coll"}
	FullName                         // {renameCollection: "db.coll"}
)

// Needs are facts about a command that the chain acts on.
type Needs uint8

// The needs.
const (
	// AdminOnly commands run on the admin database.
	AdminOnly Needs = 1 << iota
	// InTxn commands are allowed in multi-document transactions.
	InTxn
	// Writes marks commands that take a write concern and may be retried.
	Writes
	// Metadata commands are charged to the account's metadata budget.
	Metadata
	// Silent commands are not worth a line in profile or slow log.
	Silent
	// Secret commands carry passwords or proofs of them, which nobody else sees.
	Secret
)

func (n Needs) has(m Needs) bool { return n&m != 0 }
