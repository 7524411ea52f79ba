// Package abi is the line between a host and a guest: the names, records and versions
// that cross it. Host and SDK both build on it; it knows neither.
//
// A plugin is a WASI preview 1 reactor that exports the functions named here. A policy
// is called once for each scheduling cycle: the host asks for a buffer with
// ExportAlloc, writes one Picture into it and calls ExportPolicyCycle, which returns
// where the guest put one Plan. All numbers are little-endian.
//
// A new column or a new record kind is a minor version: guests skip the columns they do
// not know. Anything else is a new major version with export names of its own, so that
// a mismatch fails before the first call.
package abi

// The version of this contract. A guest is refused when its major differs, or when its
// minor is above the host's.
const (
	Major = 1
	Minor = 0
)

// The functions that a guest exports. Pointers and lengths are u32 in guest memory; a
// Result packs both.
const (
	ExportMemory      = "memory"
	ExportInitialize  = "_initialize"        // () run once, before anything else
	ExportVersion     = "rowel_abi_v1"       // () -> i32, the guest's minor version
	ExportAlloc       = "rowel_alloc"        // (size i32) -> i32, 8-aligned; valid until the next call of it
	ExportDescribe    = "rowel_describe"     // () -> i64, a Result that holds a Manifest as JSON
	ExportConfigure   = "rowel_configure"    // (size i32) -> i64, JSON was written at the last alloc; Result: an error text, empty when taken
	ExportPolicyCycle = "rowel_policy_cycle" // (size i32) -> i64, a Picture was written there; Result: a Plan
)

// The functions that the host offers.
const (
	ImportModule = "rowel"
	ImportLog    = "log" // (level i32, pointer i32, size i32), one line of UTF-8
)

// The levels of ImportLog.
const (
	LogDebug = 0
	LogInfo  = 1
	LogWarn  = 2
	LogError = 3
)

// The kinds of plugin.
const (
	KindPolicy = "policy"
)

// Manifest is how a plugin describes itself, as JSON.
type Manifest struct {
	ABI          int      `json:"abi"` // major version
	Kind         string   `json:"kind"`
	Name         string   `json:"name"`    // lower-case letters, digits and '-', at most 63
	Version      string   `json:"version"` // semantic version
	Description  string   `json:"description,omitempty"`
	ConfigSchema string   `json:"config_schema,omitempty"` // a JSON Schema; empty: takes no configuration
	Grants       []string `json:"grants,omitempty"`
}

// Result is where a guest put an answer: a pointer in the upper half, a length in the
// lower. It stays valid until the next call into the guest.
type Result uint64

// NewResult packs a pointer and a length.
func NewResult(pointer, size uint32) Result { return Result(pointer)<<32 | Result(size) }

// Pointer returns where the answer starts in guest memory.
func (r Result) Pointer() uint32 { return uint32(r >> 32) }

// Size returns the answer's length in bytes.
func (r Result) Size() uint32 { return uint32(r) }

// NoLimit is the time limit of a job that may run for ever, and the count that no
// cluster reaches.
const NoLimit = ^uint32(0)

// Never is the time of an end that is not known, in milliseconds.
const Never = int64(1)<<62 - 1
