package state

import (
	"bufio"
	"encoding/binary"
	"hash"
	"hash/crc64"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// snapshotVersion is what this version writes, and the newest that it reads. It grows
// when an older version could not restore what is written, or not to the same state.
const snapshotVersion = 1

// trailerBytes is the length of the checksum behind the last record: the CRC-64 (ECMA)
// of every byte before it, big-endian.
const trailerBytes = 8

// newChecksum returns the hash that closes a snapshot.
func newChecksum() hash.Hash64 { return crc64.New(crc64.MakeTable(crc64.ECMA)) }

// Snapshot is a state to be written out. It holds a view, so taking one costs nothing
// and nothing that happens later changes what it writes.
type Snapshot struct{ view *View }

// Snapshot returns the newest state for writing. It never fails today; the error is
// Raft's convention.
func (s *Store) Snapshot() (*Snapshot, error) { return &Snapshot{view: s.View()}, nil }

// Index returns the index of the last entry in the snapshot.
func (s *Snapshot) Index() uint64 { return s.view.Index() }

// WriteTo streams the snapshot, as core/wire/log.proto describes it, followed by the
// checksum. Equal states write equal bytes. It returns the bytes written and the first
// error of w.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	sw := &snapshotWriter{out: bufio.NewWriterSize(w, 64<<10), sum: newChecksum()}
	s.writeRecords(sw)
	sw.write(binary.BigEndian.AppendUint64(nil, sw.sum.Sum64()))
	if sw.err == nil {
		sw.err = sw.out.Flush()
	}
	return sw.written - int64(sw.out.Buffered()), sw.err
}

func (s *Snapshot) writeRecords(w *snapshotWriter) {
	v := s.view
	w.record(&wire.SnapshotRecord{Kind: &wire.SnapshotRecord_Header{Header: &wire.SnapshotHeader{
		Version: snapshotVersion, Index: v.index, TimeUnixNano: unixNano(v.at), NextJob: uint64(v.nextJob),
	}}})
	for member := range all[core.Member](v, tableMembers, indexID, nil) {
		w.record(&wire.SnapshotRecord{Kind: &wire.SnapshotRecord_Member{Member: wire.FromMember(*member)}})
	}
	for node := range v.Nodes() {
		w.record(&wire.SnapshotRecord{Kind: &wire.SnapshotRecord_Node{Node: wire.FromNode(node)}})
	}
	for job := range v.Jobs() {
		w.record(&wire.SnapshotRecord{Kind: &wire.SnapshotRecord_Job{Job: wire.FromJob(job)}})
	}
	for payload := range all[storedPayload](v, tablePayloads, indexID, nil) {
		w.record(&wire.SnapshotRecord{Kind: &wire.SnapshotRecord_Payload{Payload: fromStoredPayload(payload)}})
	}
	for request := range all[storedRequest](v, tableRequests, indexID, nil) {
		w.record(&wire.SnapshotRecord{Kind: &wire.SnapshotRecord_Request{Request: fromStoredRequest(request)}})
	}
	w.record(&wire.SnapshotRecord{Kind: &wire.SnapshotRecord_End{End: &wire.SnapshotEnd{Records: w.records}}})
}

func fromStoredPayload(p *storedPayload) *wire.StoredPayload {
	return &wire.StoredPayload{Job: uint64(p.job), Payload: wire.FromPayload(p.payload), Unfinished: p.unfinished}
}

func fromStoredRequest(r *storedRequest) *wire.StoredRequest {
	m := &wire.StoredRequest{Key: r.key, TimeUnixNano: unixNano(r.at)}
	for _, id := range r.jobs {
		m.Jobs = append(m.Jobs, uint64(id))
	}
	return m
}

// snapshotWriter frames records and sums what passes. After its first error it only
// refuses.
type snapshotWriter struct {
	out     *bufio.Writer
	sum     hash.Hash64
	buffer  []byte // reused
	records uint64
	written int64
	err     error
}

// record writes a message with its length in front.
func (w *snapshotWriter) record(message *wire.SnapshotRecord) {
	if w.err != nil {
		return
	}
	size := proto.Size(message)
	w.buffer = protowire.AppendVarint(w.buffer[:0], uint64(size))
	options := proto.MarshalOptions{Deterministic: true, UseCachedSize: true}
	if w.buffer, w.err = options.MarshalAppend(w.buffer, message); w.err != nil {
		return
	}
	w.records++
	w.write(w.buffer)
}

func (w *snapshotWriter) write(data []byte) {
	if w.err != nil {
		return
	}
	w.sum.Write(data) // a hash never fails
	var n int
	n, w.err = w.out.Write(data)
	w.written += int64(n)
}
