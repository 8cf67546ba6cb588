package command

import (
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// labelsFor returns the error labels for an error code, from which drivers decide whether to retry. The code is that
// of the command's error or, if the command succeeded, of its write concern error.
// Spec: transactions, retryable-writes and change-streams (error labels).
func (c *Call) labelsFor(code mongoerr.Code) (l mongoerr.Labels) {
	if c.Def == nil {
		return 0
	}
	switch {
	case c.Args.InTxn && !c.Args.Ending:
		if code.Transient() {
			l |= mongoerr.TransientTransactionError
		}
	case c.Args.Ending && code == mongoerr.NoSuchTransaction: // nothing can have been committed
		l |= mongoerr.TransientTransactionError
	case c.Args.Ending || c.Args.Retryable() && c.Def.Facts.Has(Writes):
		if code.RetryableWrite() {
			l |= mongoerr.RetryableWriteError
		}
	}
	if (c.Page.OfStream || c.opensStream()) && code.Resumable() {
		l |= mongoerr.ResumableChangeStreamError
	}
	return l
}

// labelsOf returns the error labels of a command's error, by its code and its cause. A transaction that failed for
// lack of memory gets TransientTransactionError, because a retry can succeed after other transactions have ended.
func (c *Call) labelsOf(e *mongoerr.Error) mongoerr.Labels {
	l := c.labelsFor(e.Code)
	if c.Args.InTxn && !c.Args.Ending && errors.Is(e, storage.ErrMemoryFull) {
		l |= mongoerr.TransientTransactionError
	}
	return l
}

// opensStream reports whether the command is a read whose pipeline begins with $changeStream.
func (c *Call) opensStream() bool {
	return c.Def.Kind == KindRead && isChangeStream(c.Body)
}

// isChangeStream reports whether the pipeline of a command begins with $changeStream.
func isChangeStream(body bson.Raw) bool {
	list, _ := body.Get("pipeline").Array()
	for v := range list.Values() {
		var first agg.Outline
		stage, _ := v.Doc()
		first.Read([]bson.Raw{stage})
		return first.Watches()
	}
	return false
}

// appendLabels writes error labels into the reply of a command that succeeded.
func (c *Call) appendLabels(l mongoerr.Labels) {
	if l == 0 {
		return
	}
	c.Reply.BeginArray("errorLabels")
	for _, name := range l.Names() {
		c.Reply.String("", name)
	}
	c.Reply.End()
}

// concernLabels returns the error labels of the writeConcernError of a command: those of a fail point, or else those
// of its code. TransientTransactionError is not among the latter: the transaction continues.
func (c *Call) concernLabels(concern bson.Raw) mongoerr.Labels {
	if c.Injected.HasLabels {
		return c.Injected.Labels
	}
	code, _ := concern.Get("code").AsInt64()
	return c.labelsFor(mongoerr.Code(code)) &^ mongoerr.TransientTransactionError
}
