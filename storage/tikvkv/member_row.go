package tikvkv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/cantledb/cantle/storage"
)

// Rows beside the owner row.
const (
	ownerMember        byte = iota // the rows of members
	ownerSafePoint                 // the safe point on which members agree
	ownerFormatVersion             // the level at which all members write
)

// memberKey returns the key of a member's row.
func (l layout) memberKey(id storage.MemberID) []byte {
	return l.in(spaceOwner, append([]byte{ownerMember}, id[:]...))
}

// memberRow is the row of a member: what other members read of it, and what they need to move the safe
// point.
type memberRow struct {
	storage.Member
	end           uint64 // end of the lease
	safePoint     uint64 // the member refuses reads before this timestamp
	oldestReader  uint64 // the member has no reader before this timestamp
	formatVersion uint32 // the newest level that the member can read
}

// expired reports whether the lease has expired at a PD timestamp.
func (m *memberRow) expired(now uint64) bool { return m.end < now }

// encode returns the row as it is stored; the package comment has the format. Programs of all levels read it.
func (m *memberRow) encode() []byte {
	var row []byte
	for _, ts := range []uint64{m.end, m.safePoint, m.oldestReader} {
		row = binary.BigEndian.AppendUint64(row, ts)
	}
	row = binary.BigEndian.AppendUint32(row, m.formatVersion)
	for _, text := range [][]byte{[]byte(m.Name), m.Description} {
		row = append(binary.BigEndian.AppendUint32(row, uint32(len(text))), text...)
	}
	return append(row, m.Message...)
}

// decodeMemberRow decodes a row. Errors: ErrFormat.
func decodeMemberRow(key, row []byte) (m memberRow, err error) {
	bad := fmt.Errorf("%w: the row of a member has %d bytes", storage.ErrFormat, len(row))
	if len(row) < 28 || len(key) < len(m.ID) {
		return m, bad
	}
	copy(m.ID[:], key[len(key)-len(m.ID):])
	for i, ts := range []*uint64{&m.end, &m.safePoint, &m.oldestReader} {
		*ts = binary.BigEndian.Uint64(row[8*i:])
	}
	m.LeaseEnd = timestampOf(m.end)
	m.formatVersion = binary.BigEndian.Uint32(row[24:])
	var texts [2][]byte
	rest := row[28:]
	for i := range texts {
		if len(rest) < 4 || uint32(len(rest)-4) < binary.BigEndian.Uint32(rest) {
			return m, bad
		}
		n := 4 + binary.BigEndian.Uint32(rest)
		texts[i], rest = bytes.Clone(rest[4:n]), rest[n:]
	}
	m.Name, m.Description, m.Message = string(texts[0]), texts[1], bytes.Clone(rest)
	return m, nil
}

// members lists the rows of all members at a PD timestamp, including those with an expired lease.
func (r *rows) members(ctx context.Context, now uint64) (list []memberRow, err error) {
	start, end := r.keys.in(spaceOwner, []byte{ownerMember}), r.keys.in(spaceOwner, []byte{ownerMember + 1})
	for start != nil {
		p, err := r.page(ctx, now, pageRequest{start: start, end: end, rows: pageRowsMax})
		if err != nil {
			return nil, err
		}
		for i, key := range p.keys {
			one, err := decodeMemberRow(key, p.values[i])
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		start = p.next
	}
	return list, nil
}
