package session

import (
	"strconv"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Args holds the arguments of a command that concern its session, after ParseArgs has checked that they fit
// together.
type Args struct {
	ID        ID
	TxnNumber int64 // -1: none
	InTxn     bool  // autocommit: false
	Start     bool  // startTransaction: true
	StmtID    int32 // of the first statement; the others count up
	// StmtIDs holds the ids of the statements of a retryable write, all different. If it is nil, the ids are StmtID,
	// StmtID+1, and so on.
	StmtIDs []int32

	// Account is the account to which a new session is charged, set by the caller.
	Account string
	// User is the id of the user, set by the caller. It distinguishes the user from a later one with the same name,
	// whose ID.Owner is the same. Zero matches any user, as without authentication.
	User [16]byte
	// TxnMax is set by the caller for a transaction with a maximum lifetime shorter than Config.TxnMax; 0 means none.
	TxnMax time.Duration
	// API holds the arguments of the stable API, set by the caller. Those of a transaction's first command apply to
	// the whole transaction.
	API API
	// Ending is set by the caller for commitTransaction and abortTransaction.
	Ending bool
	// Interrupt is set by the caller. It is called from another goroutine, with ErrKilled or ErrExpired, when the
	// running command must stop. May be nil.
	Interrupt func(cause error)
}

// API holds the arguments of the stable API, which all commands of a transaction must have in common. Spec:
// versioned-api.
type API struct {
	Version             string // "" for none
	Strict, Deprecation bool
}

// Numbered reports whether the command needs Checkout, not only Touch.
func (a Args) Numbered() bool { return a.TxnNumber >= 0 }

// Retryable reports whether the command is a retryable write outside of a transaction.
func (a Args) Retryable() bool { return a.TxnNumber >= 0 && !a.InTxn }

// ParseArgs reads lsid, txnNumber, autocommit, startTransaction, stmtId and stmtIds of a command body. command is
// the name of the command for error texts. A null field counts as absent. Spec: driver-sessions, transactions.
// Errors: TypeMismatch, InvalidOptions, errors of ParseID.
func ParseArgs(body bson.Raw, command string, o Owner) (Args, error) {
	a := Args{TxnNumber: -1}
	var hasAuto, auto, hasStart, start bool
	var given bson.Value // stmtIds
	for it := body.Iter(); it.Next(); {
		v := it.Value
		if v.IsNullish() {
			continue
		}
		var err error
		switch string(it.Name) {
		case "lsid":
			var plain bool
			if a.ID, plain = plainID(v, o); !plain {
				a.ID, err = ParseID(v, o, command+".lsid")
			}
		case "txnNumber":
			if v.Type != bson.TypeInt64 {
				return Args{}, mongoerr.WrongType(command+".txnNumber", v.Type.String(), "long")
			}
			if a.TxnNumber, _ = v.Int64(); a.TxnNumber < 0 {
				return Args{}, mongoerr.New(mongoerr.InvalidOptions, "Transaction number cannot be negative")
			}
		case "autocommit":
			hasAuto = true
			auto, err = boolean(v, command+".autocommit")
		case "startTransaction":
			hasStart = true
			start, err = boolean(v, command+".startTransaction")
		case "stmtId":
			if v.Type != bson.TypeInt32 {
				return Args{}, mongoerr.WrongType(command+".stmtId", v.Type.String(), "int")
			}
			a.StmtID, _ = v.Int32()
		case "stmtIds":
			given = v
		}
		if err != nil {
			return Args{}, err
		}
	}
	if !given.IsNullish() {
		if v := body.Get("stmtId"); !v.IsNullish() {
			return Args{}, mongoerr.New(mongoerr.InvalidOptions, "A command takes either stmtId or stmtIds, not both")
		}
		var err error
		if a.StmtIDs, err = parseStatementIDs(given, command+".stmtIds"); err != nil {
			return Args{}, err
		}
	}
	refuse := func(text string) (Args, error) { return Args{}, mongoerr.New(mongoerr.InvalidOptions, "%s", text) }
	switch {
	case a.TxnNumber >= 0 && a.ID.IsZero():
		return refuse("Transaction number requires a session ID to also be specified")
	case hasAuto && a.TxnNumber < 0:
		return refuse("'autocommit' field requires a transaction number to also be specified")
	case hasStart && !hasAuto:
		return refuse("'startTransaction' field requires 'autocommit' field to also be specified")
	case hasAuto && auto:
		return refuse("Specifying autocommit=true is not allowed.")
	case hasStart && !start:
		return refuse("Specifying startTransaction=false is not allowed.")
	}
	a.InTxn, a.Start = hasAuto, hasStart
	return a, nil
}

// parseStatementIDs reads the array stmtIds. Its numbers must differ, because two statements with one number would
// count as one statement, and the second would not run. Errors: TypeMismatch, InvalidOptions.
func parseStatementIDs(v bson.Value, field string) ([]int32, error) {
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.WrongType(field, v.Type.String(), "array")
	}
	ids := []int32{}
	seen := map[int32]bool{}
	for v := range list.Values() {
		id, ok := v.Int32()
		if !ok {
			return nil, mongoerr.WrongType(field+"."+strconv.Itoa(len(ids)), v.Type.String(), "int")
		}
		if seen[id] {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "stmtIds names the statement %d twice", id)
		}
		seen[id] = true
		ids = append(ids, id)
	}
	return ids, nil
}

// Statement returns the id (stmtId) of the command's i-th statement, counted from 0.
func (a *Args) Statement(i int) int32 {
	if i < len(a.StmtIDs) {
		return a.StmtIDs[i]
	}
	return a.StmtID + int32(i)
}

// CheckStatements returns an error if the command has stmtIds and their number is not n, the number of its
// statements. Errors: InvalidLength.
func (a *Args) CheckStatements(n int) error {
	if a.StmtIDs != nil && len(a.StmtIDs) != n {
		return mongoerr.New(mongoerr.InvalidLength, "stmtIds has %d numbers for %d statements", len(a.StmtIDs), n)
	}
	return nil
}

// boolean reads a boolean argument.
func boolean(v bson.Value, field string) (bool, error) {
	b, ok := v.Boolean()
	if !ok {
		return false, mongoerr.WrongType(field, v.Type.String(), "bool")
	}
	return b, nil
}
