package consensus

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Every connection to the Raft port starts with one frame from the dialler and one back:
//
//	magic "RWLR", version 1, purpose 1, length 4 (big-endian), JSON
//
// Nothing is read beyond the frame, so that what follows belongs to Raft. JSON because
// it happens once a connection and must evolve: unknown fields are ignored.
const (
	helloMagic   = "RWLR"
	helloVersion = 1
	helloHeader  = len(helloMagic) + 1 + 1 + 4
	maxHello     = 64 << 10
)

// purpose is what a connection is for.
type purpose byte

const (
	purposeRaft     purpose = 1 // carries Raft RPCs once it is accepted
	purposeIdentity purpose = 2 // asks who is there; closed after the answer
	purposePrepare  purpose = 3 // proposes a new cluster; closed after the answer
	purposeAnswer   purpose = 4 // the frame back
)

// hello is what the dialler says.
type hello struct {
	Cluster       string    `json:"cluster,omitempty"` // cluster ID of the sender
	ClusterName   string    `json:"cluster_name,omitempty"`
	SenderID      string    `json:"sender_id"`
	SenderAddress string    `json:"sender_address"`
	TargetID      string    `json:"target_id,omitempty"` // whom the sender means to reach
	TargetAddress string    `json:"target_address"`
	Propose       *proposed `json:"propose,omitempty"`
}

// answer is what the other side says of itself. With a Refusal the connection ends.
type answer struct {
	Refusal     string   `json:"refusal,omitempty"`
	ServerID    string   `json:"server_id"`
	Address     string   `json:"address"`
	Nonce       string   `json:"nonce"` // of the process: two processes with one server ID are a cloned disk
	Cluster     string   `json:"cluster,omitempty"`
	Pending     string   `json:"pending,omitempty"`
	ClusterName string   `json:"cluster_name,omitempty"`
	Peers       []string `json:"peers,omitempty"`
}

// writeFrame sends one frame in one write.
func writeFrame(w io.Writer, p purpose, body any) error {
	payload, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode hello: %w", err)
	}
	if len(payload) > maxHello {
		return fmt.Errorf("hello of %d bytes is above the limit of %d", len(payload), maxHello)
	}
	b := append(make([]byte, 0, helloHeader+len(payload)), helloMagic...)
	b = append(b, helloVersion, byte(p))
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	_, err = w.Write(append(b, payload...))
	return err
}

// readFrame reads one frame into body and returns its purpose. It takes no byte more
// than the frame has and allocates no more than maxHello.
func readFrame(r io.Reader, body any) (purpose, error) {
	var header [helloHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, fmt.Errorf("read hello: %w", err)
	}
	if magic := string(header[:len(helloMagic)]); magic != helloMagic {
		return 0, fmt.Errorf("not a rowel raft connection: it starts with %q", magic)
	}
	if version := header[len(helloMagic)]; version != helloVersion {
		return 0, fmt.Errorf("hello version %d, this rowel speaks %d", version, helloVersion)
	}
	size := binary.BigEndian.Uint32(header[helloHeader-4:])
	if size > maxHello {
		return 0, fmt.Errorf("hello of %d bytes is above the limit of %d", size, maxHello)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, fmt.Errorf("read hello: %w", err)
	}
	if err := json.Unmarshal(payload, body); err != nil {
		return 0, fmt.Errorf("decode hello: %w", err)
	}
	return purpose(header[len(helloMagic)+1]), nil
}
