package consensus

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
)

func sampleEntries() []*raft.Log {
	return []*raft.Log{
		{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: []byte("servers")},
		{Index: 2, Term: 1, Type: raft.LogNoop},
		{Index: 3, Term: 2, Type: raft.LogCommand, Data: []byte("data"), Extensions: []byte("ext"), AppendedAt: time.Unix(5, 7)},
		{Index: 4, Term: 2, Type: raft.LogBarrier, Extensions: []byte("ext")},
	}
}

func TestRecordKeepsEveryFieldOfAnEntry(t *testing.T) {
	for _, want := range sampleEntries() {
		var got raft.Log
		if err := decodeRecord(want.Index, encodeRecord(want), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Data) == 0 {
			got.Data = nil
		}
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Errorf("entry %d:\n%s", want.Index, diff)
		}
	}
}

func TestRecordNoticesEveryFlippedBit(t *testing.T) {
	entry := sampleEntries()[2]
	record := encodeRecord(entry)
	for i := range record {
		for bit := range 8 {
			broken := bytes.Clone(record)
			broken[i] ^= 1 << bit
			var got raft.Log
			if err := decodeRecord(entry.Index, broken, &got); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("bit %d of byte %d flipped: %v", bit, i, err)
			}
		}
	}
}

func TestRecordNoticesAnotherPlace(t *testing.T) {
	entry := sampleEntries()[2]
	var got raft.Log
	if err := decodeRecord(entry.Index+1, encodeRecord(entry), &got); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("record found under another index: %v", err)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, entry := range sampleEntries() {
		f.Add(entry.Index, encodeRecord(entry))
	}
	f.Add(uint64(0), []byte{})
	f.Fuzz(func(t *testing.T, index uint64, b []byte) {
		var entry raft.Log
		if decodeRecord(index, b, &entry) != nil {
			return
		}
		if again := encodeRecord(&entry); !bytes.Equal(again, b) {
			t.Errorf("decoded and encoded:\n%x\n%x", b, again)
		}
	})
}

func FuzzDecodeIdentity(f *testing.F) {
	id := newIdentity("a")
	id.Pending = &proposed{Cluster: "c", Proposer: "a#1", Servers: []server{{ID: "a#1", Address: "h:1"}}}
	b, err := id.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[4:])
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		id, err := decodeIdentity(seal(value))
		if err == nil && (id.Name == "" || id.Incarnation == "" || id.Format != identityFormat) {
			t.Errorf("accepted %+v", id)
		}
		_, _ = decodeIdentity(value)
	})
}

func FuzzReadFrame(f *testing.F) {
	var b bytes.Buffer
	if err := writeFrame(&b, purposeRaft, hello{Cluster: "c", SenderID: "a#1"}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("RWLR\x01\x01\xff\xff\xff\xff"))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		var h hello
		if _, err := readFrame(r, &h); err == nil {
			if taken := len(data) - r.Len(); taken > helloHeader+maxHello {
				t.Errorf("took %d bytes", taken)
			}
		}
	})
}

func FuzzReadSnapshotHeader(f *testing.F) {
	var b bytes.Buffer
	if err := (snapshotHeader{Index: 9, At: time.Unix(1, 2), Cluster: "c"}).write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readSnapshotHeader(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := h.write(&again); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, again.Bytes()) {
			t.Errorf("read and written:\n%x\n%x", data, again.Bytes())
		}
	})
}

func TestFrameLeavesWhatFollowsForRaft(t *testing.T) {
	var b bytes.Buffer
	if err := writeFrame(&b, purposeRaft, hello{SenderID: "a#1"}); err != nil {
		t.Fatal(err)
	}
	b.WriteString("raft")
	var h hello
	if p, err := readFrame(&b, &h); err != nil || p != purposeRaft || h.SenderID != "a#1" {
		t.Fatalf("purpose %d, hello %+v: %v", p, h, err)
	}
	if b.String() != "raft" {
		t.Errorf("left %q", b.String())
	}
}
