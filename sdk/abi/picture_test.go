package abi_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/sdk/abi"
)

func smallPicture() *abi.Picture {
	return &abi.Picture{
		Cycle: 7, Now: -5, Seed: 1 << 63,
		Nodes: abi.NodeColumns{
			CPUs: []uint32{8, 4, 2}, Memory: []uint32{100, 50, 25}, CPUsFree: []uint32{4, 4, 0},
			MemoryFree: []uint32{60, 50, 5}, Weight: []uint32{1, 1, 2}, Name: []uint32{0, 1, 2},
		},
		Jobs: abi.JobColumns{
			ID: []uint64{11}, Priority: []uint32{5}, Submitted: []int64{-9}, Nodes: []uint32{1}, CPUs: []uint32{2},
			Memory: []uint32{10}, Limit: []uint32{abi.NoLimit}, Set: []uint32{0}, Count: []uint32{3}, User: []uint32{3},
		},
		Running: abi.RunningColumns{
			Job: []uint64{3}, Node: []uint32{2}, CPUs: []uint32{2}, Memory: []uint32{20}, End: []int64{abi.Never},
			Priority: []uint32{1},
		},
		Sets:        []uint64{0b101},
		StringEnds:  []uint32{2, 4, 6, 9},
		StringBytes: []byte("n0n1n2ann"),
	}
}

func encode(p *abi.Picture) []byte {
	out := bytes.Repeat([]byte{0xaa}, p.Size())
	p.Encode(out)
	return out
}

func TestPictureComesBackAsItWasWritten(t *testing.T) {
	want := smallPicture()
	got, err := abi.OpenPicture(encode(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.String(3) != "ann" {
		t.Errorf("string 3 is %q", got.String(3))
	}
}

func TestUnalignedPictureIsCopied(t *testing.T) {
	want := smallPicture()
	shifted := append([]byte{0}, encode(want)...)[1:]
	got, err := abi.OpenPicture(shifted)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEqualPicturesAreEqualBytes(t *testing.T) {
	p := smallPicture()
	dirty := bytes.Repeat([]byte{0x55}, p.Size())
	p.Encode(dirty)
	if !bytes.Equal(dirty, encode(p)) {
		t.Error("what was in the buffer before shows through the padding")
	}
}

func TestUnknownColumnIsSkipped(t *testing.T) {
	src := encode(smallPicture())
	// A newer host appends a column: its directory entry stands where the last known one
	// stood, and that one is found under the number after it.
	entries := int(binary.LittleEndian.Uint32(src[12:]))
	at := abi.PictureHeaderSize + abi.ColumnEntrySize*entries
	grown := append(append(bytes.Clone(src[:at]), make([]byte, abi.ColumnEntrySize)...), src[at:]...)
	binary.LittleEndian.PutUint32(grown[8:], uint32(len(grown)))
	binary.LittleEndian.PutUint32(grown[12:], uint32(entries+1))
	for i := range entries {
		offset := grown[abi.PictureHeaderSize+abi.ColumnEntrySize*i+4:]
		binary.LittleEndian.PutUint32(offset, binary.LittleEndian.Uint32(offset)+abi.ColumnEntrySize)
	}
	binary.LittleEndian.PutUint16(grown[at:], 9999)
	got, err := abi.OpenPicture(grown)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(smallPicture(), got); diff != "" {
		t.Error(diff)
	}
}

func TestClusterWithoutNodesHasAPicture(t *testing.T) {
	p := &abi.Picture{Jobs: smallPicture().Jobs, StringEnds: []uint32{1, 2, 3, 4}, StringBytes: []byte("abcd")}
	got, err := abi.OpenPicture(encode(p))
	if err != nil {
		t.Fatal(err)
	}
	if set := got.Set(got.Jobs.Set[0]); len(set) != 0 {
		t.Errorf("a set of %d words over no nodes", len(set))
	}
}

func TestMalformedPictureIsAnError(t *testing.T) {
	le := binary.LittleEndian
	tests := map[string]struct {
		damage func(src []byte) []byte
		want   string
	}{
		"empty":        {func([]byte) []byte { return nil }, "not a picture"},
		"magic":        {func(s []byte) []byte { s[0]++; return s }, "not a picture"},
		"major":        {func(s []byte) []byte { s[4] = 2; return s }, "ABI version 2"},
		"truncated":    {func(s []byte) []byte { return s[:len(s)-8] }, "says it has"},
		"columns":      {func(s []byte) []byte { le.PutUint32(s[12:], 1<<31); return s }, "cannot have"},
		"lacks":        {func(s []byte) []byte { le.PutUint32(s[12:], 3); return s }, "lacks column"},
		"rows":         {func(s []byte) []byte { le.PutUint32(s[40:], 1<<30); return s }, "rows"},
		"type":         {func(s []byte) []byte { s[64+2] = 9; return s }, "has type 9"},
		"outside":      {func(s []byte) []byte { le.PutUint32(s[64+4:], uint32(len(s))); return s }, "outside"},
		"misaligned":   {func(s []byte) []byte { s[64+4]++; return s }, "outside"},
		"column rows":  {func(s []byte) []byte { s[64+8]--; return s }, "its table has"},
		"column twice": {func(s []byte) []byte { copy(s[80:96], s[64:80]); return s }, "stands twice"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := abi.OpenPicture(test.damage(encode(smallPicture())))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestPictureThatPointsNowhereIsAnError(t *testing.T) {
	tests := map[string]func(p *abi.Picture){
		"node set": func(p *abi.Picture) { p.Jobs.Set[0] = 1 },
		"node":     func(p *abi.Picture) { p.Running.Node[0] = 3 },
		"name":     func(p *abi.Picture) { p.Nodes.Name[0] = 4 },
		"user":     func(p *abi.Picture) { p.Jobs.User[0] = 4 },
		"string":   func(p *abi.Picture) { p.StringEnds[3] = 10 },
		"backward": func(p *abi.Picture) { p.StringEnds[1] = 1 },
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			p := smallPicture()
			damage(p)
			if _, err := abi.OpenPicture(encode(p)); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func FuzzOpenPicture(f *testing.F) {
	f.Add(encode(smallPicture()))
	f.Add(encode(&abi.Picture{}))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := abi.OpenPicture(src)
		if err != nil {
			return
		}
		// What was accepted can be walked without a panic, and says the same when written again.
		for _, set := range p.Jobs.Set {
			_ = p.Set(set)
		}
		for i := range p.StringEnds {
			_ = p.String(uint32(i))
		}
		again, err := abi.OpenPicture(encode(p))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encode(p), encode(again)) {
			t.Error("a picture changed by being written and read")
		}
	})
}
