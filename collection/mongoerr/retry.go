package mongoerr

// Transient reports whether a transaction may succeed from its beginning after this error. Spec:
// transactions#transienttransactionerror.
func (c Code) Transient() bool {
	switch c {
	case WriteConflict, SnapshotTooOld, SnapshotUnavailable, NoSuchTransaction,
		LockTimeout, StaleConfig, PreparedTransactionInProgress:
		return true
	}
	return c.RetryableWrite()
}

// RetryableWrite reports whether a driver retries a write after this error. Spec:
// retryable-writes#determining-retryable-errors.
func (c Code) RetryableWrite() bool {
	return c.Is(RetriableCategory) && c != ReadConcernMajorityNotAvailableYet
}

// Resumable reports whether a driver resumes a change stream after this error. Spec:
// change-streams#resumable-error (the list for older servers).
func (c Code) Resumable() bool {
	switch c {
	case FailedToSatisfyReadPreference, StaleShardVersion, StaleEpoch, StaleConfig, RetryChangeStream:
		return true
	}
	return c.RetryableWrite()
}
