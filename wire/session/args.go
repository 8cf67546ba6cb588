package session

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// Args are the session fields of a command, checked against each other.
type Args struct {
	ID        ID
	TxnNumber int64 // -1: none
	InTxn     bool  // autocommit: false
	Start     bool  // startTransaction: true
	StmtID    int32 // of the first statement; the others count up

	// TxnMax is set by the caller for a transaction with a lifetime of its own;
	// 0 is that of all.
	TxnMax time.Duration
	// Ending is set by the caller for commitTransaction and abortTransaction.
	Ending bool
	// Interrupt is set by the caller: called with ErrKilled or ErrExpired from another
	// goroutine when the running command must stop. May be nil.
	Interrupt func(cause error)
}

// Numbered reports that the command needs Checkout, not only Touch.
func (a Args) Numbered() bool { return a.TxnNumber >= 0 }

// Retryable reports a retryable write outside of a transaction.
func (a Args) Retryable() bool { return a.TxnNumber >= 0 && !a.InTxn }

// ParseArgs reads lsid, txnNumber, autocommit, startTransaction and stmtId of a command
// body. command is its name for error texts. null means absent.
// Spec: driver-sessions, transactions. Errors: TypeMismatch, InvalidOptions, and those of
// ParseID.
func ParseArgs(body bson.Raw, command string, o Owner) (Args, error) {
	a := Args{TxnNumber: -1}
	var hasAuto, auto, hasStart, start bool
	for it := body.Iter(); it.Next(); {
		v := it.Value
		if v.IsNullish() {
			continue
		}
		var err error
		switch string(it.Name) {
		case "lsid":
			a.ID, err = ParseID(v, o, command+".lsid")
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
		}
		if err != nil {
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

// boolean reads a boolean argument.
func boolean(v bson.Value, field string) (bool, error) {
	b, ok := v.Boolean()
	if !ok {
		return false, mongoerr.WrongType(field, v.Type.String(), "bool")
	}
	return b, nil
}
