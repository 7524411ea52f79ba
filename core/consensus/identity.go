package consensus

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
)

// identityFormat is the version of the store's layout.
const identityFormat = 1

// identity says whose store this is. It lives in the same file as the log: an identity
// that survives outside a wiped log would vouch for an empty store.
type identity struct {
	Format      int    `json:"format"`
	Name        string `json:"name"`
	Incarnation string `json:"incarnation"` // random, made with the store

	Cluster string    `json:"cluster,omitempty"` // random, made at bootstrap; empty: belongs to none
	Pending *proposed `json:"pending,omitempty"` // a cluster that was prepared here and not joined yet
}

// proposed is a cluster about to be formed.
type proposed struct {
	Cluster  string   `json:"cluster"`
	Proposer string   `json:"proposer"` // server ID
	Servers  []server `json:"servers"`
}

// server is one server of a proposed cluster.
type server struct {
	ID      string `json:"id"`
	Address string `json:"address"`
}

func newIdentity(name string) identity {
	return identity{Format: identityFormat, Name: name, Incarnation: randomID()}
}

// serverID names a store, not a machine: a wiped disk is a new server.
func (i identity) serverID() string { return i.Name + "#" + i.Incarnation }

// nameOf returns the server's name in a server ID.
func nameOf(serverID string) string {
	name, _, _ := strings.Cut(serverID, "#")
	return name
}

// names reports whether the proposal has the server.
func (p *proposed) names(serverID string) bool {
	return slices.ContainsFunc(p.Servers, func(s server) bool { return s.ID == serverID })
}

// configuration is the first configuration of the proposed cluster: all voters.
func (p *proposed) configuration() raft.Configuration {
	var c raft.Configuration
	for _, s := range p.Servers {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(s.ID), Address: raft.ServerAddress(s.Address)})
	}
	return c
}

func (i identity) encode() ([]byte, error) {
	b, err := json.Marshal(i)
	if err != nil {
		return nil, fmt.Errorf("encode identity: %w", err)
	}
	return seal(b), nil
}

func decodeIdentity(b []byte) (identity, error) {
	var id identity
	value, err := unseal("identity", b)
	if err != nil {
		return id, err
	}
	if err := json.Unmarshal(value, &id); err != nil {
		return id, fmt.Errorf("identity: %w: %w", ErrCorrupt, err)
	}
	if id.Format != identityFormat {
		return id, fmt.Errorf("identity: store format %d, this rowel reads %d", id.Format, identityFormat)
	}
	if id.Name == "" || id.Incarnation == "" {
		return id, fmt.Errorf("identity: %w: no name or incarnation", ErrCorrupt)
	}
	return id, nil
}

// randomID returns 128 random bits in hex.
func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}
