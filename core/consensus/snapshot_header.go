package consensus

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// snapshotHeader stands before the machine's own bytes in a snapshot:
//
//	magic "RWLSNAP1", index 8, time 8 (Unix nanoseconds), cluster length 2, cluster
//
// little-endian. The snapshot store checks the file's checksum before it is read.
type snapshotHeader struct {
	Index   uint64    // of the last entry in the state
	At      time.Time // of the last command in it
	Cluster string
}

const (
	snapshotMagic     = "RWLSNAP1"
	maxClusterIDBytes = 256
)

func (h snapshotHeader) write(w io.Writer) error {
	b := append([]byte{}, snapshotMagic...)
	b = binary.LittleEndian.AppendUint64(b, h.Index)
	at := int64(0)
	if !h.At.IsZero() {
		at = h.At.UnixNano()
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(h.Cluster)))
	_, err := w.Write(append(b, h.Cluster...))
	return err
}

func readSnapshotHeader(r io.Reader) (snapshotHeader, error) {
	var h snapshotHeader
	var fixed [len(snapshotMagic) + 18]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return h, fmt.Errorf("snapshot header: %w: %w", ErrCorrupt, err)
	}
	if magic := string(fixed[:len(snapshotMagic)]); magic != snapshotMagic {
		return h, fmt.Errorf("snapshot header: starts with %q, want %q", magic, snapshotMagic)
	}
	b := fixed[len(snapshotMagic):]
	h.Index = binary.LittleEndian.Uint64(b)
	if at := int64(binary.LittleEndian.Uint64(b[8:])); at != 0 {
		h.At = time.Unix(0, at)
	}
	size := binary.LittleEndian.Uint16(b[16:])
	if size > maxClusterIDBytes {
		return h, fmt.Errorf("snapshot header: %w: cluster ID of %d bytes", ErrCorrupt, size)
	}
	cluster := make([]byte, size)
	if _, err := io.ReadFull(r, cluster); err != nil {
		return h, fmt.Errorf("snapshot header: %w: %w", ErrCorrupt, err)
	}
	h.Cluster = string(cluster)
	return h, nil
}
