package cosmos

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Account describes the Cosmos address: an account of one server version, with some capabilities. Fields are set before the server starts. Safe for concurrent use.
type Account struct {
	Version      Version
	Capabilities Capabilities
	// Lenient accepts features that the account does not have, and only counts them.
	Lenient bool

	uses uses
}

// NewAccount makes an account of the newest version without capabilities.
func NewAccount() *Account { return &Account{Version: Newest} }

// ReplicaSet is the name of the replica set of each account. Source: connection strings of the service,
// "connect-account".
const ReplicaSet = "globaldb"

// DepthMax bounds the levels of a document. Source: "concepts-limits".
const DepthMax = 128

// DocumentMax returns the length of the largest document of the account, in bytes.
// Source: "concepts-limits", "how-to-configure-capabilities".
func (a *Account) DocumentMax() int {
	if a.Capabilities&EnableMongo16MBDocumentSupport != 0 {
		return bson.MaxDocumentBytes
	}
	return 2 << 20
}

// Client makes the checks of a new connection.
func (a *Account) Client() *Client { return &Client{Account: a} }

// Client checks the commands of one connection, one after the other, against its account. A nil
// Client, of an address of MongoDB, checks nothing. Safe for concurrent use.
type Client struct {
	*Account

	mu    sync.Mutex
	app   string  // of the client's metadata
	now   int64   // milliseconds since the epoch
	noted []noted // of the command that runs: each feature counts once
}

// noted is a feature by the table and the name.
type noted struct {
	kind Kind
	name string
}

// Begin starts the next command, at now in milliseconds since the epoch. app is the application in the
// metadata of the client.
func (c *Client) Begin(now int64, app string) {
	c.mu.Lock()
	c.now, c.app, c.noted = now, app, c.noted[:0]
	c.mu.Unlock()
}

// Check returns the error of the account for a name of the kind that it does not have; nil if it has
// it. A missing feature counts as used. Errors: those of the row or the kind.
func (c *Client) Check(k Kind, name string) error {
	if c == nil {
		return nil
	}
	r := k.Find(name)
	if c.accepts(k, name, r) {
		return nil
	}
	return c.refusal(k, name, r)
}

// CheckRule is Check for a row of the rules.
func (c *Client) CheckRule(r RuleID) error {
	row := &rules[r]
	if c == nil || c.accepts(Rule, row.Name, row) {
		return nil
	}
	return c.refusal(Rule, row.Name, row)
}

// Refuse is CheckRule with an error of the caller, for errors that name values.
func (c *Client) Refuse(r RuleID, err error) error {
	row := &rules[r]
	if c == nil || c.accepts(Rule, row.Name, row) {
		return nil
	}
	return err
}

// accepts reports whether the account has a feature or is lenient. A missing feature counts as used.
func (c *Client) accepts(k Kind, name string, r *Row) bool {
	if c.Has(r) {
		return true
	}
	c.note(k, name)
	return c.Lenient
}

// Refusal makes an error for Refuse: the text of the row, or that of the caller if the row has none,
// followed by help.
func (r RuleID) Refusal(format string, args ...any) *mongoerr.Error {
	text := fmt.Sprintf(format, args...)
	if rules[r].Text != "" {
		text = rules[r].Text + " " + text
	}
	return mongoerr.New(rules[r].Code, "%s", text)
}

func (c *Client) note(k Kind, name string) {
	n := noted{k, name}
	c.mu.Lock()
	seen := slices.Contains(c.noted, n)
	if !seen {
		c.noted = append(c.noted, n)
	}
	now, app := c.now, c.app
	c.mu.Unlock()
	if !seen {
		c.uses.add(n, now, app)
	}
}
