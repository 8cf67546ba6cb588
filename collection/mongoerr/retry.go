package mongoerr

// Transient reports whether a transaction that failed with this code may succeed if it begins again. Such an error
// gets the label TransientTransactionError. Spec: transactions#transienttransactionerror.
func (c Code) Transient() bool {
	switch c {
	case WriteConflict, SnapshotTooOld, SnapshotUnavailable, NoSuchTransaction,
		LockTimeout, StaleConfig, PreparedTransactionInProgress:
		return true
	}
	return c.RetryableWrite()
}

// RetryableWrite reports whether drivers send a retryable write again after an error with this code. Spec:
// retryable-writes#determining-retryable-errors.
func (c Code) RetryableWrite() bool {
	return c.Is(RetriableCategory) && c != ReadConcernMajorityNotAvailableYet
}

// Resumable reports whether drivers open a change stream again after an error with this code. Spec:
// change-streams#resumable-error (the list for older servers).
func (c Code) Resumable() bool {
	switch c {
	case FailedToSatisfyReadPreference, StaleShardVersion, StaleEpoch, StaleConfig, RetryChangeStream:
		return true
	}
	return c.RetryableWrite()
}
