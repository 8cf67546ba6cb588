package tikvkv

import (
	"context"
	"encoding/binary"

	clientkv "github.com/tikv/client-go/v2/kv"

	"github.com/cantledb/cantle/storage"
)

// truncateKeysMax is the maximum number of log records that one transaction deletes.
const truncateKeysMax = 512

// truncate implements storage.Store.TruncateLog. It writes the mark, the row with the timestamp of the newest
// truncated record, before it deletes records: a reader that runs meanwhile has an older snapshot, or finds the mark
// and returns ErrLogTruncated, or omits the records if it reads from the start.
func (l *changeLog) truncate(ctx context.Context, stream []byte, ts storage.Timestamp) error {
	newest := storage.Timestamp(0)
	err := l.readBack(ctx, stream, ts, 0, func(at storage.Timestamp, _ []byte) bool {
		newest = at
		return false
	})
	if err != nil || newest == 0 {
		return err
	}
	if err := l.internal.write(ctx, []keyValue{{l.keys.in(spaceMark, stream), binary.BigEndian.AppendUint64(nil, uint64(newest))}}, nil); err != nil {
		return err
	}
	l.tail.truncate(oracleOf(newest))
	return l.remove(ctx, stream, oracleOf(newest))
}

// remove deletes the records of a stream up to a commit time.
func (l *changeLog) remove(ctx context.Context, stream []byte, last uint64) error {
	now, err := l.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	for class := range byte(classes) {
		for bucket := range byte(buckets) {
			w := l.newLogScan(ctx, stream, now, false)
			w.addBucket(class, bucket, 0, last)
			if err := l.removeFromBucket(ctx, now, w.scans[0], last); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeFromBucket deletes the log records of one bucket up to the commit time last. If the place of a record is
// before last by the window or more, its commit time is not after last, and need not be fetched.
func (l *changeLog) removeFromBucket(ctx context.Context, now uint64, b *bucketScan, last uint64) error {
	sure := subMillis(last, l.limits.windows[b.class])
	for start := b.start; start != nil; {
		p, err := l.rows.page(ctx, now, pageRequest{start: start, end: b.end, keysOnly: true, rows: truncateKeysMax})
		if err != nil {
			return err
		}
		start = p.next
		var gone, unsure [][]byte
		for _, key := range p.keys {
			if place, _ := placeOf(key); place <= sure {
				gone = append(gone, key)
			} else {
				unsure = append(unsure, key)
			}
		}
		if len(unsure) > 0 {
			got, err := l.rows.batch(ctx, now, unsure, clientkv.WithReturnCommitTS())
			if err != nil {
				return err
			}
			for _, key := range unsure {
				if found, ok := got[string(key)]; ok && found.CommitTS <= last {
					gone = append(gone, key)
				}
			}
		}
		if err := l.internal.write(ctx, nil, gone); err != nil {
			return err
		}
	}
	return nil
}
