package mongoerr

// Transient reports errors after which a transaction may succeed from its
// beginning. Spec: transactions#transienttransactionerror.
func (c Code) Transient() bool {
	switch c {
	case WriteConflict, SnapshotTooOld, SnapshotUnavailable, NoSuchTransaction,
		LockTimeout, StaleConfig, PreparedTransactionInProgress:
		return true
	}
	return c.RetryableWrite()
}

// RetryableWrite reports errors after which a write is sent once more.
// Spec: retryable-writes#determining-retryable-errors.
func (c Code) RetryableWrite() bool {
	return c.Is(RetriableCategory) && c != ReadConcernMajorityNotAvailableYet
}

// Resumable reports errors after which a change stream is opened again where it
// was. Spec: change-streams#resumable-error (the list for older servers).
func (c Code) Resumable() bool {
	switch c {
	case FailedToSatisfyReadPreference, StaleShardVersion, StaleEpoch, StaleConfig, RetryChangeStream:
		return true
	}
	return c.RetryableWrite()
}
